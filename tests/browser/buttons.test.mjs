// Every button once, and what the API says came of it. A button that no test presses fails the last one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pages, Runner, stock, until } from "./kit/runner.mjs";

let runner, chrome, page, ids, seen;
const pressed = new Set();

before(async () => {
  [runner, chrome] = await Promise.all([Runner.start(), browser()]);
  ids = await stock(runner);
  await runner.replacePlugin();
  await until("a second version", async () => (await plugin()).versions.length === 2);
  page = await open(chrome, runner, { expects: ["404 (Not Found)"] });
  seen = await buttons();
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

const plugin = () => runner.api("/plugins/misbehave");

/// What a form does, whatever it does it to.
function what(path, act) {
  return `${path.replace(/[0-9A-Z]{26}/, "ID").replace(/^\/(queues|crons|plugins)\/.+/, "/$1/NAME")} ${act.replace(/-[0-9a-f]{64}$/, "")}`;
}

/// All that the forms of all pages do.
async function buttons() {
  const all = new Set();
  const paths = [...Object.values(pages(ids)), `/jobs/${ids.dead}`, `/jobs?state=scheduled`];
  for (const path of paths) {
    await page.goto(path);
    // That of the login is pressed where there are tokens.
    const found = await page.$$eval("form[method=post] button[name=do]", (found) =>
      found.map((button) => [new URL(button.form.action).pathname, button.value]));
    for (const [path, act] of found) all.add(what(path, act));
  }
  return all;
}

async function press(path, act, within = page.locator("main")) {
  const button = within.locator(`form[action="${path}"] button[value="${act}"]`);
  await button.click();
  pressed.add(what(path, act));
}

/// Presses a button of a job's own page, which then shows the job again.
async function pressJob(id, act) {
  await page.goto(`/jobs/${id}`);
  await press(`/jobs/${id}`, act);
  assert.equal(new URL(page.url()).pathname, `/jobs/${id}`);
}

const later = (more) => runner.enqueue({ kind: "echo", payload: "later", in: "1h", ...more });

test("a job that waits is run now, put off, discarded and cancelled", async () => {
  let id = await later();
  await pressJob(id, "retry");
  await runner.reaches(id, "completed");
  await pressJob(id, "retry");
  await until("a second attempt", async () => (await runner.job(id)).attempts.length === 2);
  id = await later();
  const before = (await runner.job(id)).at;
  await pressJob(id, "snooze");
  assert.notEqual((await runner.job(id)).at, before);
  await pressJob(id, "discard");
  assert.equal((await runner.job(id)).state, "discarded");
  id = await later();
  await pressJob(id, "cancel");
  assert.equal((await runner.job(id)).state, "cancelled");
});

test("a job that runs is cancelled, and killed from its own page and from the list", async () => {
  const run = async () => {
    const id = await runner.enqueue({ kind: "sleep", headers: { ms: "25000" }, queue: "slow" });
    await runner.reaches(id, "running");
    return id;
  };
  const [cancelled, killed, listed] = [await run(), await run(), await run()];
  await pressJob(cancelled, "cancel");
  await pressJob(killed, "kill");
  await page.goto("/workers");
  await press(`/jobs/${listed}`, "kill");
  for (const id of [cancelled, killed, listed]) await runner.reaches(id, "cancelled");
});

test("queues are paused, drained and opened", async () => {
  const mode = async () => (await runner.api("/queues")).queues.find((queue) => queue.queue === "mail").mode;
  for (const [act, is] of [["pause", "paused"], ["resume", "open"], ["drain", "draining"], ["resume", "open"]]) {
    await page.goto("/queues");
    await press("/queues/mail", act);
    assert.equal(await mode(), is);
  }
});

test("workers claim nothing more, and again", async () => {
  for (const [act, mode] of [["quiet", "quiet"], ["resume", "running"]]) {
    await page.goto("/workers");
    await press("/workers", act);
    assert.equal((await runner.api("/stats")).runner.mode, mode);
  }
});

test("letters are chosen, asked about, left, brought back and deleted", async () => {
  const bury = async () => {
    const id = await runner.enqueue({ kind: "permanent", payload: "x", queue: "buttons" });
    await runner.reaches(id, "dead");
    return id;
  };
  const chosen = [await bury(), await bury()];
  const choose = async () => {
    await page.goto("/dead?queue=buttons");
    for (const id of chosen) await page.getByLabel(`Choose ${id}`).check();
  };
  const before = await runner.count();
  await choose();
  await press("/dead", "ask-retry");
  assert.match(await page.textContent("main"), /2 letters\. Nothing was changed yet/);
  await page.getByRole("link", { name: "Leave them" }).click();
  assert.equal(await runner.count(), before);
  await choose();
  await press("/dead", "ask-retry");
  await press("/dead", "retry");
  for (const id of chosen) await until("another death", async () => (await runner.job(id)).attempts?.length === 2);
  await choose();
  await press("/dead", "ask-delete");
  await press("/dead", "delete");
  assert.equal(await runner.count(), before - 2);
  const shown = [await bury(), await bury()];
  await page.goto("/dead?queue=buttons&limit=2");
  await press("/dead", "ask-retry-shown");
  for (const id of shown) assert.ok((await page.textContent("main")).includes(id));
  await page.goto("/dead?queue=buttons&limit=2");
  await press("/dead", "ask-delete-shown");
  await press("/dead", "delete");
  assert.equal(await runner.count(), before - 2);
  for (const act of ["retry", "delete"]) {
    const last = act === "retry" ? [await bury(), await bury()] : [];
    await page.goto("/dead?queue=buttons&limit=1");
    await press("/dead", `ask-${act}-all`);
    assert.match(await page.textContent("main"), /All 2 letters that match/);
    await press("/dead", `${act}-all`);
    assert.match(await page.textContent("main"), /2 of 2 letters/);
    for (const id of last) await until("another death", async () => (await runner.job(id)).attempts?.length === 2);
  }
  assert.equal(await runner.count(), before - 2);
  const single = await bury();
  await page.goto(`/dead/${single}`);
  await press("/dead", "retry");
  await until("another death", async () => (await runner.job(single)).attempts?.length === 2);
  await page.goto(`/jobs/${single}`);
  await press(`/jobs/${single}`, "requeue");
  await until("a third death", async () => (await runner.job(single)).attempts?.length === 3);
  await page.goto(`/dead/${single}`);
  await press("/dead", "ask-delete");
  await press("/dead", "delete");
  assert.equal(await runner.count(), before - 2);
});

test("what was refused is said, and not shown as done", async () => {
  // Without scripts, so that the page keeps the button of a moment ago.
  const context = await chrome.newContext({ baseURL: runner.url, javaScriptEnabled: false });
  const still = await context.newPage();
  const id = await later();
  await still.goto(`/jobs/${id}`);
  await runner.api(`/jobs/${id}/cancel`, {});
  const answer = still.waitForResponse((response) => response.request().method() === "POST");
  await still.locator("button[value=discard]").click();
  assert.equal((await answer).status(), 409);
  assert.match(await still.getByRole("alert").textContent(), /cancelled/);
  await context.close();
});

test("schedules are paused, resumed and run now", async () => {
  const cron = async () => (await runner.api("/crons")).schedules.find((cron) => cron.name === "nightly");
  await page.goto("/crons");
  await press("/crons/nightly", "pause");
  assert.ok((await cron()).paused);
  await press("/crons/nightly", "trigger");
  const latest = await until("its job", async () => (await cron()).latest_job);
  await runner.reaches(latest, "completed");
  await page.goto("/crons");
  await press("/crons/nightly", "resume");
  assert.ok(!(await cron()).paused);
});

test("batches are sealed and called off", async () => {
  const row = page.locator("tr", { hasText: ids.batch });
  await page.goto("/batches");
  await press(`/batches/${ids.batch}`, "seal");
  assert.match(await row.textContent(), /sealed/);
  await press(`/batches/${ids.batch}`, "cancel");
  const within = (await runner.api(`/jobs?batch=${ids.batch}`)).jobs;
  assert.deepEqual(within.map((job) => job.state), ["cancelled"]);
});

test("a plugin is held back, released, rolled back and another version served", async () => {
  const [file, before] = (await plugin()).versions.map((version) => version.digest);
  for (const [act, status, served] of [
    ["quarantine", "quarantined", undefined],
    ["release", "ok", file],
    ["rollback", "rolled-back", before],
    ["release", "ok", file],
    [`serve-${before}`, "rolled-back", before],
    ["release", "ok", file],
  ]) {
    await page.goto("/plugins/misbehave");
    await press("/plugins/misbehave", "check");
    assert.match(await page.textContent("main"), /Verdict: it can run/);
    await page.goto("/plugins/misbehave");
    await press("/plugins/misbehave", act);
    // A version that comes back is taken in first.
    await until(`${act} to be done`, async () => {
      const now = await plugin();
      return now.status === status && now.served?.digest === served;
    });
  }
});

test("settings are read again, and what waits for a start is told", async () => {
  await writeFile(join(runner.home, "sandhog.toml"), '[limits]\ntimeout = "41s"\n[store]\ninterval = "7s"\n');
  await page.goto("/settings");
  await press("/settings", "reload");
  assert.match(await page.getByRole("status").last().textContent(), /limits\.timeout: "30s" -> "41s"/);
  const { settings, waiting } = await runner.api("/config");
  const row = (key) => settings.find((setting) => setting.key === key);
  assert.deepEqual([row("limits.timeout"), row("store.interval")], [
    { key: "limits.timeout", value: '"41s"', origin: "file" },
    { key: "store.interval", value: '"100ms"', origin: "default" },
  ]);
  assert.deepEqual(waiting.map((one) => [one.key, one.after]), [["store.interval", '"7s"']]);
  assert.match(await page.locator("tr", { hasText: "store.interval" }).textContent(), /100ms.+7s/);
  assert.match(await page.locator("tr", { hasText: /^data/ }).textContent(), /flag --data/);
});

test("what waits is run from its list, and a schedule shows its jobs and slots", async () => {
  const id = await later({ queue: "waits" });
  const sooner = await later({ queue: "waits", in: "30m" });
  await page.goto("/waiting?queue=waits&limit=1");
  assert.deepEqual(await page.locator("tbody tr td:first-child").allTextContents(), [sooner]);
  await page.getByRole("button", { name: "Later" }).click();
  assert.deepEqual(await page.locator("tbody tr td:first-child").allTextContents(), [id]);
  await press(`/jobs/${id}`, "retry");
  await runner.reaches(id, "completed");
  await page.goto("/crons/nightly");
  await press("/crons/nightly", "trigger");
  await page.goto("/crons/nightly");
  assert.ok((await page.locator("h2:text('Jobs') + div tbody tr").count()) >= 1);
  assert.equal(await page.locator("h2:text('Slots to come') + div tbody tr").count(), 10);
  const { jobs } = await runner.api("/jobs?cron=nightly");
  assert.ok(jobs.length >= 1 && jobs.every((job) => job.kind === "echo"));
});

test("lists are filtered and gone through", async () => {
  await page.goto("/jobs");
  await page.getByLabel("State").selectOption("retryable");
  await page.getByLabel("Queue").fill("mail");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  assert.deepEqual(await page.locator("tbody tr td:first-child").allTextContents(), [ids.retryable]);
  await page.goto("/dead");
  await page.getByLabel("Kind").fill("panic");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.goto("/jobs?limit=1&state=dead");
  const first = await page.locator("tbody a").first().textContent();
  await page.getByRole("button", { name: "Older" }).click();
  assert.notEqual(await page.locator("tbody a").first().textContent(), first);
  assert.match(page.url(), /state=dead/);
});

test("every button was pressed", () => {
  assert.deepEqual([...seen].filter((button) => !pressed.has(button)), []);
  assert.ok(seen.size > 15, [...seen].join(", "));
  assert.deepEqual(page.trouble, []);
});
