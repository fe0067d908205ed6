// T50: very many letters, walked through while others die; and in the long form how long every page takes at a
// million jobs.
import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { pages, Runner, stock } from "./kit/runner.mjs";

const LONG = process.env.SANDHOG_LONG === "1";
const LETTERS = LONG ? 200_000 : 5_000;
const JOBS = LONG ? 1_000_000 : 20_000;
/// What a page may take, in milliseconds.
const MOST = 200;

let runner, chrome, ids;
const copies = new Set();

before(async () => {
  [runner, chrome] = await Promise.all([Runner.start(), browser()]);
  ids = await stock(runner);
  const [first] = (await runner.tell("dead", "export", "--data", "data", "--kind", "permanent")).split("\n");
  await lines("letters.ndjson", LETTERS, (number) => {
    const id = ids.dead.slice(0, 16) + number.toString(32).toUpperCase().replace(/[ILOU]/g, (digit) => ({ I: "W", L: "X", O: "Y", U: "Z" })[digit]).padStart(10, "0");
    copies.add(id);
    return first.replaceAll(ids.dead, id);
  });
  await runner.tell("dead", "import", "letters.ndjson", "--data", "data");
  await lines("jobs.ndjson", JOBS, (number) => JSON.stringify({ kind: "echo", payload: number, in: "10h", queue: `many-${number % 20}` }));
  await runner.tell("enqueue", "--bulk", "jobs.ndjson", "--data", "data");
  const { store } = await runner.api("/stats");
  assert.ok(store.jobs.scheduled >= JOBS && store.dead_letters >= LETTERS, JSON.stringify(store));
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

async function lines(name, count, line) {
  const file = createWriteStream(join(runner.home, name));
  for (let number = 1; number <= count; number += 1) {
    if (!file.write(`${line(number)}\n`)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

/// A page as it comes, and how long that took.
async function take(path) {
  const start = performance.now();
  const answer = await fetch(runner.url + path);
  const text = await answer.text();
  return { status: answer.status, text, took: performance.now() - start };
}

const letters = (text) => [...text.matchAll(/href="\/dead\/([^"]+)"/g)].map(([, id]) => id);
const cursor = (text) => text.match(/name="cursor" value="([^"]+)"/)?.[1];

test(`t50: ${LETTERS} letters are walked through without doubles or gaps while others die and are deleted`, async () => {
  const seen = new Set();
  const times = [];
  let [next, rounds] = [null, 0];
  do {
    const page = await take(`/dead?limit=500${next ? `&cursor=${encodeURIComponent(next)}` : ""}`);
    assert.equal(page.status, 200, page.text);
    times.push(page.took);
    for (const id of letters(page.text)) {
      assert.ok(!seen.has(id), `${id} twice`);
      seen.add(id);
    }
    next = cursor(page.text);
    rounds += 1;
    if (rounds % 4 === 0) {
      // The one that the cursor stands at, which was seen, and a new one.
      const last = letters(page.text).at(-1);
      await runner.api(`/dead/${last}`, undefined, "DELETE");
      const id = await runner.enqueue({ kind: "permanent", payload: rounds });
      await runner.reaches(id, "dead");
    }
  } while (next);
  assert.deepEqual([...copies].filter((id) => !seen.has(id)), []);
  times.sort((a, b) => a - b);
  console.log(`T50: ${seen.size} letters in ${rounds} pages of 500, the slowest ${times.at(-1).toFixed(0)} ms, the median ${times[rounds >> 1].toFixed(0)} ms`);
});

test("t50: cursors that are none are refused", async () => {
  for (const wrong of ["-1", "0", "9223372036854775808", "a", "%00"]) {
    for (const path of ["/dead", "/jobs"]) assert.equal((await take(`${path}?cursor=${wrong}`)).status, 422, `${path} ${wrong}`);
  }
});

test(`every page is there within ${MOST} ms at ${JOBS} jobs and ${LETTERS} letters`, async () => {
  const page = await open(chrome, runner, { expects: ["404 (Not Found)"] });
  const filters = { "jobs, by state": "/jobs?state=scheduled", "jobs, by queue": "/jobs?queue=many-7", "dead, by queue": "/dead?queue=mail", "dead, by kind": "/dead?kind=panic", "dead, by text": "/dead?text=nowhere" };
  const slow = [];
  console.log("| page | answered, ms | shown by a browser, ms | KiB |\n|---|---|---|---|");
  for (const [name, path] of Object.entries({ ...pages(ids), ...filters })) {
    const tries = [];
    for (let number = 0; number < 5; number += 1) tries.push(await take(path));
    const took = tries.map((one) => one.took).sort((a, b) => a - b)[2];
    const start = performance.now();
    await page.goto(path, { waitUntil: "load" });
    const shown = performance.now() - start;
    console.log(`| ${name} | ${took.toFixed(1)} | ${shown.toFixed(0)} | ${(tries[0].text.length / 1024).toFixed(0)} |`);
    if (took > MOST) slow.push(`${name}: ${took.toFixed(0)} ms`);
  }
  assert.deepEqual(slow, []);
  assert.deepEqual(page.trouble, []);
});
