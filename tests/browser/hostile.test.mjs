// T48: what callers and guests write is text, in every place where it is shown. T49: a row that cannot be read.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { Runner, until } from "./kit/runner.mjs";

/// Text that would run, break out, or turn around what follows it, if it were not text.
const NASTY = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  "</textarea></pre></title><svg/onload=alert(1)>",
  "javascript:alert(1)",
  "<a href=javascript:alert(1)>x</a>",
  "{{constructor.constructor('alert(1)')()}}",
  "<iframe srcdoc=\"<script>alert(1)</script>\">",
  "]]><!--<style>*{display:none}</style>",
  "\u202etxt.exe",
];
/// A file of the plugin folder can be called anything but for its slashes.
const FILE = '"><img src=x onerror=alert(1)>.wasm';

let runner, chrome, page;

before(async () => {
  // So many panics in a row would have the plugin held back.
  const settings = "[plugins]\nquarantine_after = 0\n";
  [runner, chrome] = await Promise.all([Runner.start({ settings, files: { [FILE]: "no component" } }), browser()]);
  page = await open(chrome, runner, { expects: ["400 (Bad Request)", "404 (Not Found)", "422 (Unprocessable Entity)"] });
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

/// The whole of what a page says, its fields and its folded parts included.
async function said() {
  return page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    for (const element of document.querySelectorAll("*")) element.dispatchEvent(new MouseEvent("mouseover"));
    const fields = [...document.querySelectorAll("input")].map((field) => field.value);
    return [document.title, document.body.innerText, ...fields].join("\n");
  });
}

/// What a guest says of turning text around is written out by the host.
const written = (text) => text.replace(/\u202e/g, "\\u{202e}");

async function shows(path, text) {
  await page.goto(path);
  const all = await said();
  assert.ok(all.includes(text) || all.includes(written(text)), `${path} does not say ${text}`);
}

async function ended() {
  assert.deepEqual(page.trouble, []);
}

test("t48: payloads, headers, errors, panics, logs and progress", async () => {
  for (const nasty of NASTY) {
    const error = await runner.enqueue({ kind: "permanent", payload_text: nasty, headers: { origin: nasty }, tags: [nasty], queue: "t48" });
    const panic = await runner.enqueue({ kind: "panic", payload_text: nasty, max_attempts: 1, queue: "t48" });
    const log = await runner.enqueue({ kind: "recite", payload_text: nasty, queue: "t48" });
    await runner.reaches(error, "dead");
    await runner.reaches(panic, "dead");
    await runner.reaches(log, "completed");
    for (const id of [error, panic, log]) await shows(`/jobs/${id}`, nasty);
    for (const path of ["/", "/dead?queue=t48&limit=2", `/dead/${error}`, `/dead/${panic}`, "/jobs?queue=t48&limit=3"]) {
      await shows(path, nasty);
    }
    const lines = await page.goto(`/jobs/${log}`).then(said);
    const times = (text) => lines.split(text).length - 1;
    assert.ok(times(nasty) + (written(nasty) === nasty ? 0 : times(written(nasty))) >= 4, `${nasty}: payload, result, log and its field`);
  }
  await ended();
});

test("t48: reasons, names of batches, and a job's media type", async () => {
  for (const nasty of NASTY) {
    const id = await runner.enqueue({ kind: "echo", in: "1h" });
    await runner.api(`/jobs/${id}/cancel`, { reason: nasty });
    await shows(`/jobs/${id}`, nasty);
    await runner.tell("batch", "open", "--name", nasty, "--data", "data");
    await shows("/batches?limit=1", nasty);
    const name = `n${NASTY.indexOf(nasty)}`;
    await runner.api(`/crons/${name}`, { schedule: "0 3 * * *", kind: "echo" }, "PUT");
    await runner.api(`/crons/${name}/pause`, { reason: nasty });
    await shows("/crons", nasty);
  }
  await ended();
});

test("t48: names and schedules that are none are refused, and shown as they were typed", async () => {
  for (const nasty of NASTY) {
    const typed = encodeURIComponent(nasty);
    for (const [path, status] of [
      [`/jobs?queue=${typed}&kind=${typed}&tag=${typed}`, 200],
      [`/dead?queue=${typed}&kind=${typed}&failure=${typed}&text=${typed}`, 422],
      [`/dead?text=${typed}`, 200],
      [`/jobs?state=${typed}`, 400],
      [`/jobs?batch=${typed}`, 400],
      [`/jobs?${typed}=1`, 400],
      [`/jobs?cursor=${typed}`, 422],
      [`/jobs/${typed}`, 400],
      [`/dead/${typed}`, 400],
    ]) {
      const answer = await page.goto(path);
      assert.equal(answer.status(), status, path);
      if (path.startsWith("/jobs?queue")) assert.equal(await page.locator("input[name=kind]").inputValue(), nasty);
    }
    for (const job of [{ kind: nasty }, { kind: "echo", queue: nasty }]) {
      await assert.rejects(runner.enqueue(job), /422|400/);
    }
    const cron = { schedule: nasty, kind: "echo" };
    await assert.rejects(runner.api("/crons/nasty", cron, "PUT"), /422|400/);
  }
  await ended();
});

test("t48: a file of the plugin folder with a name of that kind", async () => {
  await until("the folder to be looked at", async () => (await runner.api("/plugins")).plugins.some((one) => one.cause));
  await shows("/plugins", FILE);
  await ended();
});

test("t49: a letter that cannot be read is seen raw and deleted, and spoils no page", async () => {
  for (const payload of ["one", "two", "three"]) {
    const id = await runner.enqueue({ kind: "permanent", payload, queue: "t49" });
    await runner.reaches(id, "dead");
  }
  const letters = join(runner.home, "data/dead/letters");
  await runner.end();
  const bytes = await readFile(letters);
  // In the id of the first letter: what is left of it belongs to no job.
  bytes[48 + 34] ^= 1;
  await writeFile(letters, bytes);
  await runner.begin();
  page = await open(chrome, runner, { expects: ["400 (Bad Request)", "404 (Not Found)", "422 (Unprocessable Entity)"] });
  let name;
  for (let next = "/dead?limit=50"; next; ) {
    const answer = await page.goto(next);
    assert.equal(answer.status(), 200);
    const row = page.locator("tr", { hasText: "unreadable" });
    if (await row.count()) {
      name = await row.locator("a").textContent();
      assert.ok((await page.locator("tbody tr").count()) > 1, "the other rows are there");
      break;
    }
    next = (await page.locator("#more").count()) ? await page.locator("#more").click().then(() => page.url()) : null;
  }
  assert.ok(name, "no row says that it cannot be read");
  await page.goto("/");
  await page.goto(`/dead/${name}`);
  assert.match(await page.textContent("main"), /It cannot be read: .+bytes, in base64/s);
  const before = await runner.count();
  await page.locator("button[value=ask-delete]").click();
  await page.locator("button[value=delete]").click();
  await page.waitForURL("/dead");
  assert.equal(await runner.count(), before - 1);
  assert.doesNotMatch(await page.textContent("main"), /unreadable/);
  await ended();
});
