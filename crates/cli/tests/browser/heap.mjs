// Drives pages of heap dumps in Chromium: heap.mjs CASE ADDRESS. The dump is that of tests/browse.rs.
//
// $HPROF_BROWSER is the browser, $HPROF_PLAYWRIGHT the folder whose node_modules has playwright-core. A page may say
// nothing on the console, ask for nothing but what is clicked, and open no dialog.

import assert from 'node:assert/strict';
import { launch, watched } from './browser.mjs';

const CLASS = "<img src=x onerror='window.hostile=1'>";
const FIELD = '</td><script>window.hostile=1</script>';

const faults = [];

async function open(context, address) {
  const page = await watched(context, faults, (request) => request.isNavigationRequest());
  await page.goto(address.replace('<', '%3C').replace('>', '%3E'));
  return page;
}

// Nothing on the page has become markup.
async function plain(page) {
  assert.equal(await page.locator('script, img, iframe, b, i, form:not(nav > form), svg [onload]').count(), 0);
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  assert.doesNotMatch(await page.textContent('body'), /[\u001b\u202e]/u);
}

const text = (page) => page.textContent('body');

const cases = {
  async clicks(context, address) {
    const page = await open(context, address);
    await plain(page);
    assert.match(await text(page), /Findings.*Dominator tree.*Large, but bounded.*Classes.*Waste/s);
    // The first screen has what is wrong and the treemap; a link leads from a finding to its details.
    assert.match(await page.textContent('ol.findings'), /Object\[\] @ 0x300 retains .* of what is live, but is bounded: .*; held by .* details/);
    assert.ok((await page.locator('svg').boundingBox()).y < 600);
    await page.click('ol.findings a:text-is("details") >> nth=0');
    assert.match(page.url(), /#bounded-1$/);
    // To the objects of a class, on to the next hundred, to one of them, to what it refers to, and back over a referrer.
    await page.click(`table a:text-is("${CLASS}")`);
    await plain(page);
    assert.match(await page.textContent('h1'), /<img src=x/);
    await page.click('a:text-is("after")');
    await page.click(`table a:text-matches("@ 0x") >> nth=3`);
    await plain(page);
    assert.ok((await text(page)).includes(FIELD));
    await page.click('h2:text-is("Holds") + table a');
    assert.match(await page.textContent('h1'), /java\.lang\.String @ 0x100/);
    assert.ok((await text(page)).includes('</q><b>bold</b>&lt;'));
    await plain(page);
    await page.click('h2:text-is("Referred to by") + table a >> nth=7');
    assert.match(await page.textContent('h1'), /<img src=x.*@ 0x1/);
    // Up the shortest path, to the array, whose treemap leads down again.
    await page.click('ol a:text-matches("Object\\\\[\\\\] @ 0x300")');
    assert.match(await page.textContent('h1'), /Object\[\] @ 0x300/);
    assert.match(await text(page), /\[0\] to \[39\]null\s*\[40\]/);
    await page.click('svg a >> nth=0', { position: { x: 4, y: 4 } });
    await plain(page);
    await page.click('nav a:text-is("Threads")');
    await page.click('nav a:text-is("Overview")');
    await page.click('svg a >> nth=0', { position: { x: 4, y: 4 } });
    assert.match(await page.textContent('h1'), /class <img/);
    await plain(page);
    // Another page that knows the whole address gets nothing.
    const other = await context.newPage();
    await other.goto('data:text/html,<title>other</title>');
    const got = await other.evaluate((address) => fetch(address).then((answer) => answer.status, () => 'refused'), address);
    assert.equal(got, 'refused');
  },

  // The form finds a class, an object by its id, and a string by its text; what is asked for and found stays text.
  async search(context, address) {
    const page = await open(context, address);
    const search = async (wanted) => {
      await page.fill('nav input', wanted);
      await page.click('nav button');
      await plain(page);
      assert.equal(await page.inputValue('nav input'), wanted);
    };
    await search('<IMG SRC');
    await page.click(`h2:text-is("Classes") + ul a:text-is("${CLASS}")`);
    assert.match(await page.textContent('h1'), /Class <img src=x/);
    await search('0x300');
    await page.click('h2:text-is("Object") + ul a');
    assert.match(await page.textContent('h1'), /Object\[\] @ 0x300/);
    await search('<b>Bold</b>&lt;');
    await page.click('h2:text-is("Strings") + ul a');
    assert.match(await page.textContent('h1'), /java\.lang\.String @ 0x100/);
    await search('"><script>window.hostile=1</script> & nothing + has 100 % of it');
    assert.match(await text(page), /No class has this text.*No string has this text/s);
    assert.equal(await page.locator('main a, ul a').count(), 0);
  },

  // A profile of one method and the dump.
  async both(context, address) {
    const page = await open(context, address);
    await page.waitForSelector('body[data-ready]');
    assert.equal(await page.locator('main svg').count(), 0);
    await page.click('nav >> text=Heap');
    await page.waitForSelector('main svg rect');
    assert.match(await page.textContent('main'), /Findings.*Dominator tree.*Large, but bounded.*Classes.*Allocation sites.*Waste/s);
    assert.equal(await page.locator('main :is(script, img, iframe, b, i, a)').count(), 0);
    assert.ok((await page.textContent('main')).includes(CLASS));
    await page.click('nav >> text=Top');
    assert.equal(await page.locator('main svg').count(), 0);
    await page.goBack();
    await page.waitForSelector('main svg rect');
    assert.equal(await page.evaluate(() => window.hostile), undefined);
  },

  async report(context, address) {
    const page = await open(context, address);
    await plain(page);
    assert.equal(await page.locator('a').count(), 0);
    assert.ok(await page.locator('svg rect').count() > 1);
    assert.match(await text(page), /Findings.*Dominator tree.*Large, but bounded.*Shortest path from a root.*Allocated by.*Classes.*Allocation sites.*Waste/s);
    assert.ok((await text(page)).includes(CLASS));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true);
  },
};

const [name, address] = process.argv.slice(2);
const browser = await launch('--disable-gpu');
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await cases[name](context, address);
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
