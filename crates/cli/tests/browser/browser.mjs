// A browser with nothing of its own to say: $HPROF_BROWSER, driven by playwright-core in the folder $HPROF_PLAYWRIGHT.

import { createRequire } from 'node:module';

const { chromium } = createRequire(`${process.env.HPROF_PLAYWRIGHT}/`)('playwright-core');
const SWITCHES = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const launch = (...switches) =>
  chromium.launch({ executablePath: process.env.HPROF_BROWSER, args: [...SWITCHES, ...switches] });
