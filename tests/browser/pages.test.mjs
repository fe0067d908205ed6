// Every page, light and dark, at a desk and on a phone: what the browser and those who use it would complain of.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { browser, faults, open, PHONE } from "./kit/browser.mjs";
import { needed, pages, Runner, stock } from "./kit/runner.mjs";

const PICTURES = needed("SANDHOG_PICTURES");
let runner, chrome, ids;

before(async () => {
  await mkdir(PICTURES, { recursive: true });
  [runner, chrome] = await Promise.all([Runner.start(), browser()]);
  ids = await stock(runner);
});
after(async () => {
  await chrome?.close();
  await runner?.drop();
});

test("the picture of the tab is there, and may be shown", async () => {
  const page = await open(chrome, runner);
  await page.goto("/");
  const icon = await page.getAttribute("link[rel=icon]", "href");
  const width = await page.evaluate(async (icon) => {
    const image = new Image();
    image.src = icon;
    await image.decode();
    return image.naturalWidth;
  }, icon);
  assert.ok(width > 0);
  assert.deepEqual(page.trouble, []);
});

for (const [where, viewport, schemes] of [["desk", undefined, ["light", "dark"]], ["phone", PHONE, ["light"]]]) {
  for (const scheme of schemes) {
    test(`every page reads well, ${scheme}, ${where}`, async () => {
      const page = await open(chrome, runner, { viewport, scheme, expects: ["404 (Not Found)"] });
      const found = [];
      for (const [name, path] of Object.entries(pages(ids))) {
        await page.goto(path);
        const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(paper.match(/\d+/)[0] < 128, scheme === "dark", `${name}: ${paper}`);
        found.push(...(await page.evaluate(faults)).map((fault) => `${name}: ${fault}`));
        await page.screenshot({ path: join(PICTURES, `${name}-${where}-${scheme}.png`), fullPage: true });
      }
      assert.equal([...new Set(found)].join("\n"), "");
      assert.deepEqual(page.trouble, []);
    });
  }
}
