// Debian's chromium, and what is watched in every page.
import { chromium } from "playwright-core";
import { needed } from "./runner.mjs";

const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

export async function browser() {
  return chromium.launch({ executablePath: needed("SANDHOG_CHROMIUM") });
}

/// A page in a window of its own. What a browser complains of is gathered in `trouble`.
export async function open(chrome, runner, { viewport = DESK, scheme = "light", expects = [] } = {}) {
  const context = await chrome.newContext({ viewport, colorScheme: scheme, baseURL: runner.url, reducedMotion: "reduce" });
  const page = await context.newPage();
  const trouble = [];
  const say = (what) => { if (!expects.some((known) => what.includes(known))) trouble.push(what); };
  page.on("dialog", async (dialog) => {
    say(`a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("console", (line) => { if (["error", "warning"].includes(line.type())) say(`console: ${line.text()}`); });
  page.on("pageerror", (error) => say(`script: ${error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(runner.url)) say(`a request elsewhere: ${request.url()}`);
  });
  page.trouble = trouble;
  return page;
}

/// What is wrong with a page for those who do not see it, see it badly or see little of it. Runs in the page.
export function faults() {
  const found = [];
  const text = (element) => (element.textContent || "").trim();
  const shown = (element) => element.getClientRects().length > 0;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const name = (element) => element.outerHTML.slice(0, 120);
  if (!document.documentElement.lang) found.push("no language is said");
  if (!document.title.includes("·")) found.push("the title does not say the page");
  for (const one of ["main", "header", "nav[aria-label]", "h1"]) {
    const count = document.querySelectorAll(one).length;
    if (count !== 1) found.push(`${count} of ${one}`);
  }
  let before = 1;
  for (const heading of all("h1, h2, h3, h4")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) found.push(`h${before} is followed by ${name(heading)}`);
    before = level;
  }
  const seen = new Set();
  for (const { id } of document.querySelectorAll("[id]")) {
    if (seen.has(id)) found.push(`two of id ${id}`);
    seen.add(id);
  }
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    const said = field.getAttribute("aria-label") || [...field.labels].map(text).join("");
    if (!said) found.push(`no label: ${name(field)}`);
  }
  for (const link of all("a, button, summary")) {
    if (!text(link) && !link.getAttribute("aria-label")) found.push(`nothing to read out: ${name(link)}`);
  }
  for (const table of all("table")) {
    if (!table.tHead || [...table.tHead.rows[0].cells].some((cell) => cell.tagName !== "TH" || !text(cell))) {
      found.push(`columns without a heading: ${name(table)}`);
    }
  }
  for (const cell of all("td")) {
    if (cell.scrollWidth > cell.clientWidth + 1) found.push(`runs over its cell: ${name(cell)}`);
  }
  for (const image of all("svg[role=img]")) {
    if (!image.getAttribute("aria-label") && !image.getAttribute("aria-labelledby")) found.push(`a picture without words: ${name(image)}`);
  }
  for (const button of all("button, input, select, summary, nav a")) {
    if (button.getBoundingClientRect().height < 24) found.push(`too low to be hit: ${name(button)}`);
  }
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide > 0) found.push(`${wide} pixels wider than the window`);

  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  for (const element of all("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || element.closest("svg, script, .skip")) continue;
    const [ink, paper] = [light(parts(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)}: ${name(element)}`);
  }
  return found;
}
