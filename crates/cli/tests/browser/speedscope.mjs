// Opens an export of alloc.hprof.gz in speedscope's own page: speedscope.mjs EXPORT TOP
//
// TOP is the answer of `hprof top --json --value alloc-objects --by line`. $HPROF_SPEEDSCOPE is the folder whose node_modules has
// speedscope. Nothing may leave the machine.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import { launch } from './browser.mjs';

const [file, top] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(top, 'utf8'));
const release = `${process.env.HPROF_SPEEDSCOPE}/node_modules/speedscope/dist/release/index.html`;
const faults = [];

// It draws with WebGL, for which a machine may have no more than its processor.
const browser = await launch('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader');
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(120_000);
  page.on('pageerror', (error) => faults.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) faults.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(release).href);
  await page.setInputFiles('input[type=file]', file);
  await page.waitForFunction(() => document.title.includes('alloc.hprof.gz'));

  // Every value is a profile, with its total: the list after the name in the middle.
  const profiles = async () => new Map(await page.$$eval('tr[title]', (rows) => rows.map((row) =>
    [row.title, row.querySelector('td:last-child').textContent])));
  await page.waitForSelector('tr[title="alloc-objects"]', { state: 'attached' });
  const totals = await profiles();
  assert.deepEqual([...totals.keys()], ['alloc-bytes', 'alloc-objects', 'live-bytes', 'live-objects']);
  assert.equal(totals.get('alloc-objects').replaceAll(',', ''), String(expected.total));

  // The lines of the second one, the costliest first, in the table of the sandwich view.
  await page.keyboard.press('n');
  await page.waitForFunction(() => document.body.innerText.includes('(2/4)'));
  await page.keyboard.press('3');
  await page.waitForFunction((name) => document.body.innerText.includes(name), expected.rows[0].name.split('(')[0]);
  const rows = await page.$$eval('tr:not([title])', (rows) => rows.map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim())).filter((cells) => cells.length === 3));
  const shown = new Set(rows.map(([, self, name]) => `${name} ${self.split(' ')[0].replaceAll(',', '')}`));
  for (const { name, self } of expected.rows.slice(0, 10)) {
    const row = `${name.split('(')[0]} ${self}`;
    assert.ok(shown.has(row), `${row} is not among ${[...shown]}`);
  }
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
