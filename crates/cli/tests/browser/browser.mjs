// A browser with nothing of its own to say: $HPROF_BROWSER, driven by playwright-core in the folder $HPROF_PLAYWRIGHT.

import { createRequire } from 'node:module';

const { chromium } = createRequire(`${process.env.HPROF_PLAYWRIGHT}/`)('playwright-core');
const SWITCHES = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const launch = (...switches) =>
  chromium.launch({ executablePath: process.env.HPROF_BROWSER, args: [...SWITCHES, ...switches] });

// A page that puts into `faults` whatever it says on the console, asks for without `allows(request)`, or opens a dialog for.
export async function watched(context, faults, allows) {
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on('console', (message) => faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('data:') && !allows(request)) faults.push(`request: ${request.url()}`);
  });
  return page;
}
