// Drives pages of `hprof report` and `hprof flame` in Chromium: report.mjs CASE ARGUMENT...
//
// $HPROF_BROWSER is the browser, $HPROF_PLAYWRIGHT the folder whose node_modules has playwright-core. A page may say
// nothing on the console, ask for nothing, and open no dialog.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import { launch, watched } from './browser.mjs';

const faults = [];

async function open(context, address) {
  const base = (url) => url.split('#')[0];
  const page = await watched(context, faults, (request) => base(request.url()) === base(address));
  await page.goto(address);
  await page.waitForSelector('body[data-ready]');
  return page;
}

const title = (page) => page.textContent('.foot .title');
const about = (page) => page.textContent('.foot .about');
const theme = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const hash = (page) => page.evaluate(() => location.hash);
const selector = (label) => `label:has(> span:text-is("${label}")) select`;
const choose = (page, label, value) => page.selectOption(selector(label), value);
// The names and the exact own costs of the first rows of a table.
const rows = (page, count) => page.$$eval('main tbody tr', (all, count) => all.slice(0, count).map((row) => [
  row.querySelector('.wide button, .wide .name').textContent, row.querySelector('td span').title]), count);

const cases = {
  // Prints the seconds until a page can be used.
  async opens(context, [file]) {
    const start = performance.now();
    await open(context, file);
    console.log(((performance.now() - start) / 1000).toFixed(2));
  },

  // A page of ten seconds: p.A.always has 2 samples in each, p.B.slow 15 in the fifth and the sixth.
  async times(context, [file]) {
    const page = await open(context, file);
    assert.match(await about(page), /^alltotal50 /);
    const map = page.locator('#heat canvas');
    const brush = async (from, to) => {
      const { x, y, width } = await map.boundingBox();
      const at = (second) => x + 190 + ((width - 190) * (second + 0.5)) / 10;
      await page.mouse.move(at(from), y + 20);
      await page.mouse.down();
      await page.mouse.move(at(to), y + 24, { steps: 4 });
      await page.mouse.up();
    };
    await brush(5, 4);
    assert.match(await hash(page), /from=4000&to=6000/);
    assert.match(await about(page), /^alltotal34 /);
    await page.click('nav >> text=Top');
    assert.deepEqual((await rows(page, 9)).map(([name]) => name), ['p.B.slow', 'p.A.always']);
    await brush(0, 3);
    assert.deepEqual((await rows(page, 9)).map(([name]) => name), ['p.A.always']);
    // The keys, a link, and all of the time again.
    await map.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Shift+ArrowLeft');
    assert.match(await hash(page), /from=1000&to=4000/);
    const again = await open(context, page.url());
    assert.deepEqual((await rows(again, 9)).map(([name]) => name), ['p.A.always']);
    await again.close();
    await page.click('#filters button');
    assert.doesNotMatch(await hash(page), /from=/);
    assert.deepEqual((await rows(page, 9)).map(([name]) => name), ['p.B.slow', 'p.A.always']);
  },

  // A page of samples whose stacks were all cut at two frames.
  async cut(context, [file]) {
    const page = await open(context, file);
    await page.focus('canvas');
    await page.keyboard.press('ArrowUp');
    assert.equal(await title(page), '[cut at 2 frames]');
    assert.match(await page.textContent('.remark'), /^100\.00 % of cpu is in stacks cut at 2 frames: .*depth=512/);
    await page.keyboard.press('2');
    assert.match(await page.textContent('.remark'), /cut at 2 frames/);
  },

  // A page of alloc.hprof.gz and the answer of `hprof top --json --value alloc-objects`.
  async report(context, [file, top]) {
    const page = await open(context, file);
    assert.equal(await title(page), 'all');

    // What is shown first is the flame graph of the first value; a value and then a box are chosen.
    const bytes = await about(page);
    await choose(page, 'Value', 'alloc-objects');
    assert.notEqual(await about(page), bytes);
    assert.match(await hash(page), /value=alloc-objects/);
    await page.focus('canvas');
    await page.keyboard.press('ArrowUp');
    const chosen = await title(page);
    assert.notEqual(chosen, 'all');
    await page.keyboard.press('Enter');
    assert.match(await hash(page), /zoom=\d+/);

    // The copied stack is that of the box; a link brings back what is shown, and so do Back and Forward.
    await page.click('#copy');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), chosen);
    const again = await open(context, page.url());
    assert.equal(await title(again), chosen);
    assert.equal(await again.$eval(selector('Value'), (select) => select.value), 'alloc-objects');
    await again.close();
    await page.goBack();
    assert.doesNotMatch(await hash(page), /zoom=/);
    await page.goForward();
    assert.match(await hash(page), /zoom=/);
    await page.focus('canvas');
    await page.keyboard.press('Escape');
    assert.doesNotMatch(await hash(page), /zoom=/);

    // A click zooms in too: the box above "all", at the left of the graph.
    const box = await (await page.$('canvas')).boundingBox();
    await page.mouse.click(box.x + 8, box.y + box.height - 30);
    assert.match(await hash(page), /zoom=/);
    assert.equal(await title(page), chosen);

    // The theme.
    const light = await theme(page);
    await page.click('#theme');
    assert.notEqual(await theme(page), light);

    // A search, and what is none.
    await page.focus('canvas');
    await page.keyboard.press('/');
    await page.keyboard.type('^Alloc\\.(viaA|viaB)$');
    await page.waitForFunction(() => /\(244\)/.test(document.querySelector('#found')?.textContent ?? ''));
    await page.fill('#search', '(');
    await page.waitForSelector('#search:invalid');
    await page.fill('#search', '');
    await page.waitForSelector('#search:valid');

    // The same table as on the terminal.
    await page.click('nav >> text=Top');
    const expected = JSON.parse(readFileSync(top, 'utf8')).rows;
    const shown = new Map(await rows(page, 200));
    for (const row of expected) assert.equal(shown.get(row.name)?.replaceAll(',', ''), String(row.self), row.name);

    // Callers and callees of a method: the first row of each has all of its 242 objects, as `hprof tree` says.
    await page.fill('#search', 'AbstractStringBuilder.<init>');
    await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 1);
    // A press and a release on a row are a click, though a search comes in between that draws the rows anew.
    await page.hover('main .link:has-text("AbstractStringBuilder.<init>")');
    await page.mouse.down();
    await page.evaluate(() => {
      const search = document.getElementById('search');
      search.value = 'AbstractStringBuilder';
      search.dispatchEvent(new Event('input'));
    });
    await page.waitForFunction(() => /find=AbstractStringBuilder(&|$)/.test(location.hash));
    await page.mouse.up();
    assert.match(await hash(page), /view=around/);
    await page.waitForSelector('.middle .title');
    assert.match(await page.textContent('.middle .title'), /^java\.lang\.AbstractStringBuilder\.<init>$/);
    assert.match(await page.textContent('.middle'), /total242 /);
    const [callers, callees] = await Promise.all((await page.$$('canvas')).map((canvas) => canvas.boundingBox()));
    await page.mouse.move(callers.x + 40, callers.y + callers.height - 10);
    assert.match(await page.textContent('#tip'), /StringBuilder\.<init>total242 /);
    await page.mouse.move(callees.x + 40, callees.y + 10);
    assert.match(await page.textContent('#tip'), /StringBuilder\.<init>total242 /);
    await page.fill('#search', '');

    // What is kept: 5000 were dropped, 1070 are alive.
    await page.click('nav >> text=Allocation sites');
    await choose(page, 'By', 'class');
    const site = async (name) => {
      // The search is emptied a moment after its field.
      const row = await page.waitForSelector(`main tr:has(.link:text-is("${name}"))`);
      return row.$$eval('td span[title]', (cells) => cells.map((cell) => cell.title));
    };
    assert.deepEqual((await site('Alloc$Dropped')).slice(1, 4), ['5,000', '0 bytes', '0']);
    const kept = await site('Alloc$Kept');
    assert.deepEqual([kept[1], kept[3]], ['1,070', '1,070']);
    await page.click('main .link:text-is("Alloc$Dropped")');
    assert.match(await page.textContent('#filters'), /class Alloc\$Dropped/);
    for (const key of '123456789?') await page.keyboard.press(key);
    await page.waitForSelector('dialog[open]');
  },

  // A page of growth.hprof.gz, with the answers of `hprof export --to json` and `hprof growth --json`.
  async time(context, [file, exported, growth]) {
    const { history } = JSON.parse(readFileSync(exported, 'utf8'));
    const suspected = JSON.parse(readFileSync(growth, 'utf8')).rows.map((row) => row.class).sort();
    const page = await open(context, file);
    await page.click('nav >> text=Time');

    // The course of the whole has a point for each step, with the peak marked.
    const label = () => page.getAttribute('main svg', 'aria-label');
    const points = async () => (await page.getAttribute('main .curve', 'd')).match(/[ML]/g).length;
    assert.equal(await label(), 'alive, bytes of all sites over time');
    assert.equal(await points(), history.course.all.length);
    assert.match(await page.textContent('text.peak'), new RegExp(`^peak: collection ${history.peak.collection} at `));
    const told = (point) => `${point[3].toLocaleString('en-US')} objects alive`;
    const readout = () => page.textContent('.readout');
    assert.ok((await readout()).includes(told(history.course.all.at(-1))), await readout());

    // The pointer reads the first point.
    const chart = await (await page.$('main svg')).boundingBox();
    await page.mouse.move(chart.x + 90, chart.y + chart.height / 2);
    assert.ok((await readout()).includes(told(history.course.all[0])), await readout());
    await choose(page, 'Curve', 'objects');
    assert.equal(await label(), 'alive, objects of all sites over time');

    // Sites, those that pile up as `hprof growth` says.
    assert.equal(await page.locator('main tbody tr').count(), history.course.sites.length);
    const badges = await page.$$eval('main tr:has(.grows) .link', (all) => all.map((one) => one.textContent.split(',')[0]));
    assert.deepEqual(badges.sort(), suspected);

    // A click on a site shows its own course, and a link brings it back.
    await page.click('main .link:has-text("Growth$Slow")');
    assert.match(await hash(page), /site=\d+/);
    assert.match(await label(), /^alive, objects of Growth\$Slow, Growth\.tick over time$/);
    assert.match(await readout(), /300 objects alive.*Its objects pile up: .* objects a minute more/s);
    const again = await open(context, page.url());
    assert.match(await again.getAttribute('main svg', 'aria-label'), /Growth\$Slow/);
    await again.close();
    await page.click('text=All sites');
    assert.equal(await points(), history.course.all.length);

    // The ages of what is alive, as bars of allocation sites.
    await page.click('nav >> text=Allocation sites');
    await choose(page, 'By', 'class');
    const bar = (name) => page.getAttribute(`main tr:has(.link:text-is("${name}")) .bar:has([class^=age])`, 'title');
    assert.match(await bar('Growth$Cached'), /^1 s and older: 120 KB$/);
    assert.match(await bar('Growth$Queued'), /^younger than 1 s/);
  },

  // A page of two runs; Gone.gone is in the first alone, Came.came in the second, Same.same in both.
  async difference(context, [file]) {
    const page = await open(context, file);
    await page.click('nav >> text=Difference');
    const row = (name) => page.textContent(`main tr:has(.link:text-is("${name}"))`);
    assert.match(await row('Gone.gone'), /−30.*vanished/s);
    assert.match(await row('Came.came'), /\+50.*new.*appeared/s);
    assert.doesNotMatch(await row('Same.same'), /vanished|appeared/);
    await choose(page, 'Show', 'vanished');
    assert.deepEqual((await rows(page, 9)).map(([name]) => name), ['Gone.gone']);
    await page.click('text=As a flame graph');
    await walkTo(page, 'Gone.gone');
    assert.match(await about(page), /now0 .*before30 .*vanished/);
  },

  // A flame graph that compares two runs.
  async flame(context, [file]) {
    const page = await open(context, file);
    assert.equal(await page.isVisible('nav'), false);
    await walkTo(page, 'Gone.gone');
    assert.match(await about(page), /vanished/);
  },

  // A page of a file with two dumps of 10 and 30 samples.
  async dumps(context, [file]) {
    const page = await open(context, file);
    assert.match(await about(page), /total30 /);
    await choose(page, 'Run', '0');
    assert.match(await about(page), /total10 /);
    await choose(page, 'Compare with', '1');
    assert.match(await about(page), /now10 .*before30 /);
  },

  // A page of contended monitors.
  async monitors(context, [file]) {
    const page = await open(context, file);
    await page.click('nav >> text=Monitors');
    await choose(page, 'By', 'class');
    assert.deepEqual((await rows(page, 9)).map(([name]) => name), ['java.lang.Object']);
    await page.click('nav >> text=Threads');
    assert.ok((await rows(page, 9)).length > 0);
  },

  // A page of native memory from two places, one of which leaks.
  async native(context, [file]) {
    const page = await open(context, file);
    await page.click('nav >> text=Native sites');
    const texts = () => page.locator('main tbody tr').allTextContents();
    const leak = /^1,500,000 B?.*15.*1,200,000|^1\.50 MB15.*1\.20 MB12.*8\.00 MB80.*p\.B\.grow/;
    assert.match((await texts())[0], leak);
    assert.match((await texts())[1], /^0.*p\.A\.go/);
    // There are no classes to group by.
    assert.deepEqual(await page.$$eval('main .tools option', (all) => all.map((one) => one.textContent)), ['method', 'stack']);
    await choose(page, 'By', 'trace');
    assert.match((await texts())[0], /p\.B\.grow.*p\.A\.go/);
    await page.click('main tbody tr >> nth=0 >> button');
    assert.match(await about(page), /total1\.50 MB /);
  },

  // A page of waits for locks.
  async waiting(context, [file]) {
    const page = await open(context, file);
    await page.click('nav >> text=Waiting');
    const texts = async () => (await page.locator('main tbody tr').allTextContents()).join('\n');
    assert.match(await texts(), /700 ms.*p\.A\.put.*p\.B\.write.*called by p\.B\.flush.*p\.Lock@1b2c/);
    assert.match(await texts(), /<no holder seen>/);
    await choose(page, 'By', 'lock');
    assert.match(await texts(), /900 ms.*p\.Lock@1b2c/);
    await choose(page, 'By', 'holder');
    assert.match(await texts(), /200 ms.*p\.B\.scan/);
  },

  // A page with two looks at the memory of the process.
  async memory(context, [file]) {
    const page = await open(context, file);
    await page.click('nav >> text=Memory');
    assert.equal(await page.getAttribute('main svg', 'aria-label'), 'The parts of the resident set over time');

    // Each part is an area, the one that has most at the bottom; its two edges have a point for each look.
    const areas = await page.$$eval('main svg path', (all) => all.map((one) => one.textContent));
    assert.deepEqual(areas, ['direct buffers', 'Java heap', 'malloc']);
    const edges = await page.$$eval('main svg path', (all) => all.map((one) => one.getAttribute('d').match(/[ML]/g).length));
    assert.deepEqual(edges, [4, 4, 4]);
    assert.equal(await page.textContent('main svg text.peak'), 'limit 400 MB');

    // The last look at first, then the one at the pointer.
    const readout = () => page.textContent('.readout');
    assert.equal(await readout(), '320 MB resident at 11.0 s: direct buffers 220 MB, Java heap 70.0 MB, malloc 30.0 MB; '
      + '330 MB of a limit of 400 MB');
    const chart = await (await page.$('main svg')).boundingBox();
    await page.mouse.move(chart.x + 90, chart.y + chart.height / 2);
    assert.equal(await readout(), '80.0 MB resident at 1.00 s: Java heap 60.0 MB, malloc 20.0 MB; 85.0 MB of a limit of 400 MB');

    const cells = (row) => page.$$eval(`main tbody tr:nth-child(${row}) td`, (all) => all.map((one) => one.textContent));
    assert.deepEqual(await cells(1), ['0', '220 MB', '220 MB', '220 MB', 'direct buffers']);
    assert.deepEqual(await cells(2), ['60.0 MB', '70.0 MB', '70.0 MB', '10.0 MB', 'Java heap']);
  },

  // A page whose names, in the file that is the second argument, want to be more than text.
  async hostile(context, [file, list]) {
    const page = await open(context, file);
    const names = JSON.parse(readFileSync(list, 'utf8'));
    for (const view of ['Top', 'Callers', 'Allocation sites', 'Threads', 'Run', 'Flame graph']) {
      await page.click(`nav >> text=${view}`);
      const elements = 'script:not(head script, body > script), img, iframe, a, svg, style:not(head style), b';
      assert.equal(await page.locator(elements).count(), 0, view);
      const text = await page.textContent('main');
      assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, view);
      if (view === 'Top') for (const name of names) assert.ok(text.includes(name), name.slice(0, 80));
    }
    for (let step = 0; step < names.length; step++) await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => window.hostile), undefined);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true);
  },
};

// Moves to a box of the flame graph that stands on "all", or on its first box.
async function walkTo(page, name) {
  await page.focus('canvas');
  const seen = [];
  for (const key of ['ArrowUp', 'ArrowUp', ...Array(9).fill('ArrowRight')]) {
    await page.keyboard.press(key);
    seen.push(await title(page));
    if (seen.at(-1) === name) return;
  }
  assert.fail(`${name} is not among ${seen}`);
}

const [name, file, ...rest] = process.argv.slice(2);
const browser = await launch('--disable-gpu');
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await cases[name](context, [pathToFileURL(file).href, ...rest]);
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
