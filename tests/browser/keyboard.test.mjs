// With the keys alone: what comes first, where one is, and that everything can be reached and pressed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { pages, Runner, stock } from "./kit/runner.mjs";

let runner, chrome, ids;

before(async () => {
  [runner, chrome] = await Promise.all([Runner.start(), browser()]);
  ids = await stock(runner);
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

/// Where the focus is: what it is on, whether that can be seen, and whether a mark is around it.
function focus() {
  const at = document.activeElement;
  const box = at.getBoundingClientRect();
  const style = getComputedStyle(at);
  const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const stands = [...document.querySelectorAll("*")].indexOf(at);
  return { tag: at.tagName, text: (at.textContent || at.name || "").trim(), marked, stands, seen: box.width > 0 && box.right > 0 && box.bottom > 0 };
}

test("the first key leads past the pages' names to the content", async () => {
  const page = await open(chrome, runner);
  await page.goto("/queues");
  await page.keyboard.press("Tab");
  const skip = await page.evaluate(focus);
  assert.deepEqual([skip.text, skip.seen, skip.marked], ["To the content", true, true]);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.activeElement.closest("main") && document.activeElement.id !== "main"));
  assert.deepEqual(page.trouble, []);
});

test("the keys reach everything in the order it stands, and one sees where one is", async () => {
  const page = await open(chrome, runner, { expects: ["404 (Not Found)"] });
  for (const [name, path] of Object.entries(pages(ids))) {
    await page.goto(path);
    const wanted = await page.evaluate(() => {
      const shown = (element) => element.getClientRects().length > 0;
      return [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")].filter(shown).length;
    });
    // Where a field asks for what is typed first, what stands before it is left out.
    let [reached, last] = [0, -1];
    await page.evaluate(() => { document.activeElement.blur(); });
    for (let key = 0; key < 400; key += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(focus);
      if (at.tag === "BODY" || at.stands < last) break;
      assert.ok(at.marked && at.seen, `${name}: no mark around ${at.tag} ${at.text}`);
      last = at.stands;
      if (["A", "BUTTON", "INPUT", "SELECT", "SUMMARY"].includes(at.tag)) reached += 1;
    }
    assert.ok(name === "login" || reached === wanted, `${name}: ${reached} of ${wanted} reached`);
  }
  assert.deepEqual(page.trouble, []);
});

test("a button is pressed with a key", async () => {
  const page = await open(chrome, runner);
  await page.goto("/queues");
  const pause = page.locator('form[action="/queues/mail"] button[value=pause]');
  await pause.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("/queues");
  await page.locator('form[action="/queues/mail"] button[value=resume]').waitFor();
  assert.deepEqual(page.trouble, []);
});

test("what is opened with a key stays open, and the log can be read", async () => {
  const page = await open(chrome, runner);
  await page.goto(`/jobs/${ids.completed}`);
  await page.locator("ol.attempts summary").focus();
  await page.keyboard.press("Space");
  assert.ok(await page.locator("ol.attempts details[open] pre").isVisible());
  assert.match(await page.locator("ol.attempts pre").textContent(), /an error line/);
  assert.deepEqual(page.trouble, []);
});
