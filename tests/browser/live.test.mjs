// Pages that follow what happens, and leave alone what someone is about to do.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { Runner, until } from "./kit/runner.mjs";

let runner, chrome;

before(async () => {
  [runner, chrome] = await Promise.all([Runner.start(), browser()]);
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

const live = (page) => page.locator("#live", { hasText: /^live$/ }).waitFor();

test("a list shows a job that comes, without a reload", async () => {
  const page = await open(chrome, runner);
  await page.goto("/jobs?queue=live");
  await live(page);
  await page.evaluate(() => { window.same = true; });
  const id = await runner.enqueue({ kind: "echo", payload: 1, queue: "live" });
  await page.locator("tr", { hasText: id }).locator(".completed").waitFor();
  assert.equal(await page.evaluate(() => window.same), true, "it was loaded anew");
  assert.deepEqual(page.trouble, []);
});

test("one job is followed from its wait to its end", async () => {
  const page = await open(chrome, runner);
  const id = await runner.enqueue({ kind: "echo", payload: 1, in: "1h" });
  await page.goto(`/jobs/${id}`);
  await live(page);
  await runner.api(`/jobs/${id}/retry`, {});
  await page.locator("main dl .completed").waitFor();
  assert.deepEqual(page.trouble, []);
});

test("what was chosen, typed and opened stays", async () => {
  const page = await open(chrome, runner);
  const id = await runner.enqueue({ kind: "permanent", payload: 1, queue: "stays" });
  await runner.reaches(id, "dead");
  await page.goto("/dead?queue=stays");
  await live(page);
  await page.getByLabel(`Choose ${id}`).check();
  const heard = page.waitForRequest(/\/dead/, { timeout: 3_000 }).then(() => true, () => false);
  const more = await runner.enqueue({ kind: "permanent", payload: 2, queue: "stays" });
  await runner.reaches(more, "dead");
  assert.equal(await heard, false, "it was brought up to date under the hands of who chose");
  assert.ok(await page.getByLabel(`Choose ${id}`).isChecked());
  await page.getByLabel(`Choose ${id}`).uncheck();
  await page.evaluate(() => document.activeElement.blur());
  const again = await runner.enqueue({ kind: "permanent", payload: 3, queue: "stays" });
  await runner.reaches(again, "dead");
  await page.locator("tr", { hasText: again }).waitFor();
  assert.deepEqual(page.trouble, []);
});

test("the focus stays where it was when the page is brought up to date", async () => {
  const page = await open(chrome, runner);
  for (const queue of ["focus-a", "focus-b"]) await runner.enqueue({ kind: "echo", payload: 1, queue });
  await page.goto("/queues");
  await live(page);
  await page.locator('form[action="/queues/focus-b"] button[value=pause]').focus();
  await runner.enqueue({ kind: "echo", payload: 1, queue: "focus-c" });
  await page.locator("tr", { hasText: "focus-c" }).waitFor();
  assert.equal(await page.evaluate(() => new URL(document.activeElement.form?.action ?? "http://none/").pathname), "/queues/focus-b");
  assert.deepEqual(page.trouble, []);
});

test("the pictures of the overview count what happens", async () => {
  const page = await open(chrome, runner);
  for (const kind of ["echo", "echo", "permanent"]) await runner.enqueue({ kind, payload: 1, queue: "pictures" });
  const id = await runner.enqueue({ kind: "divide", max_attempts: 1, queue: "pictures" });
  await runner.reaches(id, "dead");
  for (const path of ["/", "/?past=day"]) {
    await page.goto(path);
    await page.locator("#chart-jobs summary").click();
    // A minute may have begun in between.
    const rows = await page.locator("#chart-jobs tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(1).map((cell) => Number(cell.textContent))));
    const [enqueued, completed, failed, dead] = rows.reduce((sum, row) => sum.map((count, place) => count + row[place]));
    assert.ok(enqueued >= 4 && completed >= 2 && failed >= 2 && dead >= 2, `${enqueued} ${completed} ${failed} ${dead}`);
    assert.match(await page.getByRole("img", { name: /^Jobs (a|in)/ }).getAttribute("aria-label"), /completed at most \d+, failed attempts at most \d+, dead at most \d+$/);
    assert.match(await page.getByRole("img", { name: /^In the sandbox/ }).getAttribute("aria-label"), /half below at most \d+ (µs|ms)/);
    const ways = page.locator("figure", { hasText: "How attempts failed" });
    assert.equal(await ways.locator("tr", { hasText: "divide" }).locator("td").nth(1).textContent(), "trap:divide-by-zero");
  }
  assert.deepEqual(page.trouble, []);
});

test("a page says when it is no longer live, and is again once the runner is back", async () => {
  const page = await open(chrome, runner, { expects: ["ERR_", "502", "network"] });
  await page.goto("/jobs");
  await live(page);
  await runner.end();
  await page.locator("#live", { hasText: "not live" }).waitFor();
});
