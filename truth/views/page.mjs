// Opens the page of `hprof report` in Chromium and prints the rows of its table of methods: page.mjs FILE VALUE
//
// $HPROF_BROWSER is the browser, $HPROF_PLAYWRIGHT the folder whose node_modules has playwright-core.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(`${process.env.HPROF_PLAYWRIGHT}/`)('playwright-core');
const [file, value] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.HPROF_BROWSER, args: ['--no-sandbox', '--disable-quic'] });
try {
  const page = await browser.newPage({ viewport: { width: 1600, height: 4000 } });
  page.setDefaultTimeout(120_000);
  page.on('pageerror', (error) => { throw error; });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('body[data-ready]');
  const choice = page.locator('label:has(> span:text-is("Value")) select');
  if (await choice.count() > 0) await choice.selectOption(value);
  await page.click('nav >> text=Top');
  await page.waitForSelector('main tbody tr');
  const rows = await page.$$eval('main tbody tr', (all) => all.map((row) => ({
    name: row.querySelector('.wide button, .wide .name')?.textContent,
    amounts: [...row.querySelectorAll('td span[title]')].map((cell) => cell.title),
  })));
  console.log(JSON.stringify(rows));
} finally {
  await browser.close();
}
