// Behind a proxy that serves the runner under a path, and where a token has to be shown first.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { browser, open } from "./kit/browser.mjs";
import { pages, Runner, stock, until } from "./kit/runner.mjs";

const PREFIX = "/ops/jobs";
const EYES = "eyes-0123456789abcdef0123456789";
const HANDS = "hands-0123456789abcdef012345678";

let chrome;

before(async () => { chrome = await browser(); });
after(() => chrome?.close());

/// A proxy as an operator sets one up: it takes the path away and says which it was.
async function proxy(target) {
  const strays = [];
  const server = createServer((ask, answer) => {
    if (!ask.url.startsWith(`${PREFIX}/`)) {
      strays.push(ask.url);
      answer.writeHead(404).end();
      return;
    }
    const { port } = new URL(target());
    const headers = { ...ask.headers, "x-forwarded-prefix": PREFIX };
    const onward = request({ host: "127.0.0.1", port, path: ask.url.slice(PREFIX.length), method: ask.method, headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    ask.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, strays, host: `127.0.0.1:${server.address().port}` };
}

test("under a path every link, form, picture and feed stays below it", async () => {
  let runner;
  const { server, strays, host } = await proxy(() => runner.url);
  runner = await Runner.start({ settings: `[http]\nhosts = ["${host}"]\n` });
  try {
    const ids = await stock(runner);
    const page = await open(chrome, { url: `http://${host}` }, { expects: ["404 (Not Found)"] });
    for (const path of Object.values(pages(ids))) {
      await page.goto(PREFIX + path);
      const away = await page.$$eval("a[href], form, script[src], link[href]", (all) =>
        all.map((one) => new URL(one.action || one.href || one.src).pathname));
      assert.deepEqual(away.filter((path) => !path.startsWith(`${PREFIX}/`)), [], path);
    }
    await page.goto(`${PREFIX}/queues`);
    await page.locator("#live", { hasText: /^live$/ }).waitFor();
    await page.locator(`form[action="${PREFIX}/queues/mail"] button[value=pause]`).click();
    assert.equal(new URL(page.url()).pathname, `${PREFIX}/queues`);
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.locator("tbody a").first().click();
    assert.match(new URL(page.url()).pathname, /^\/ops\/jobs\/jobs\/[0-9A-Z]{26}$/);
    assert.deepEqual([strays, page.trouble], [[], []]);
    await page.context().close();
  } finally {
    server.closeAllConnections();
    server.close();
    await runner.drop();
  }
});

test("who shows a token comes in, sees what they may do, and goes out again", async () => {
  const runner = await Runner.start();
  try {
    await runner.enqueue({ kind: "echo", in: "1h", queue: "mail" });
    await runner.end();
    await writeFile(join(runner.home, "tokens"), `viewer:eyes:${EYES}\noperator:hands:${HANDS}\n`);
    await chmod(join(runner.home, "tokens"), 0o600);
    await writeFile(join(runner.home, "sandhog.toml"), `[http]\ntoken_file = "tokens"\n`);
    await runner.begin();
    const page = await open(chrome, runner, { expects: ["401 (Unauthorized)"] });
    await page.goto("/queues");
    assert.equal(new URL(page.url()).pathname, "/login");
    const come = async (token) => {
      await page.getByLabel("Token").fill(token);
      await page.keyboard.press("Enter");
    };
    await come("wrong-0123456789abcdef");
    assert.match(await page.getByRole("alert").textContent(), /not known/);
    await come(EYES);
    await page.waitForURL("/");
    await page.goto("/queues");
    assert.equal(await page.locator("main form[method=post] button").count(), 0);
    await page.locator("#live", { hasText: /^live$/ }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL("/login");
    await come(HANDS);
    await page.waitForURL("/");
    await page.goto("/queues");
    await page.locator('form[action="/queues/mail"] button[value=pause]').click();
    await until("the queue to be paused", async () => /paused/.test(await page.textContent("tbody")));
    const cookies = await page.context().cookies();
    assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict" && !cookie.value.includes("hands-")));
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  } finally {
    await runner.drop();
  }
});
