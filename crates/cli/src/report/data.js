// The profiles of this page. `data.rs` tells how they are written.

const UNITS = {};
const ORDER = ['cpu', 'wall', 'blocked', 'parked', 'pinned', 'time', 'inclusive-time', 'alloc-bytes', 'alloc-objects', 'live-bytes',
  'live-objects', 'temporary-bytes', 'temporary-objects', 'survived-bytes', 'survived-objects', 'peak-bytes', 'peak-objects',
  'contention', 'contentions', 'lock-wait', 'native-live-bytes', 'native-live-blocks', 'native-old-bytes', 'native-old-blocks',
  'native-bytes', 'native-blocks', 'calls'];
const MARKER = 3;
// By the bytes of a number.
const COLUMNS = [, Uint8Array, Uint16Array, Uint32Array, Uint32Array];

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

async function readProfiles() {
  const element = document.getElementById('profiles');
  const packed = bytesOf(JSON.parse(element.textContent).gzip);
  element.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return unpack(await new Response(stream).arrayBuffer());
}

function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  let next = 0;
  const column = () => {
    const [width, count] = header.columns[next++];
    const bytes = new Uint8Array(buffer, at, width * count);
    at += bytes.length;
    return numbersOf(bytes, width, count);
  };
  const frames = { class: column(), method: column(), source: column(), line: column(), kind: column() };
  const stacks = stacksOf(column(), column());
  const { strings } = header;
  const runs = header.runs.map((run) => {
    const tables = run.tables.map((metrics) => {
      for (const [name, unit] of metrics) UNITS[name] = unit;
      const stack = fromDistances(column());
      return { metrics: metrics.map(([name]) => name), stack, thread: column(), type: column(),
        values: metrics.map(column) };
    });
    if (run.history?.ages.length) tables.push(ageTable(run.history.ages));
    const timelines = run.timelines.map((timeline) => {
      const stack = fromDistances(column());
      const [thread, type, counts, distances, amounts] = [column(), column(), column(), column(), column()];
      return { ...timeline, stack, thread, type, ...stepsOf(counts, distances), amounts };
    });
    const begin = timelines.reduce((first, timeline) => Math.min(first, timeline.begin), Infinity);
    const metrics = ORDER.filter((name) => tables.some((table) => table.metrics.includes(name)));
    return { ...run, tables, metrics, timelines, begin };
  });
  const intervals = new Set(runs.filter((run) => run.metrics.includes('cpu')).map((run) => run.interval));
  const [interval] = intervals;
  // Samples are times where they stand for the same time in all runs.
  if (intervals.size === 1 && interval) {
    UNITS.cpu = 'samples';
    sampled = interval * 1e9;
  }
  return { strings, frames, stacks, runs, start: header.start };
}

// The lowest bytes of all numbers come first.
function numbersOf(bytes, width, count) {
  if (width === 1) return bytes;
  const numbers = new (COLUMNS[width] ?? Float64Array)(count);
  numbers.set(bytes.subarray(0, count));
  for (let place = 1; place < width; place++) {
    const start = place * count;
    const factor = 256 ** place;
    if (width > 4) for (let at = 0; at < count; at++) numbers[at] += bytes[start + at] * factor;
    else for (let at = 0; at < count; at++) numbers[at] |= bytes[start + at] << (8 * place);
  }
  return numbers;
}

function fromDistances(distances) {
  const places = new Uint32Array(distances.length);
  let place = 0;
  for (let at = 0; at < places.length; at++) places[at] = place += distances[at];
  return places;
}

// The steps of each row, which begin in `starts`, from their distances.
function stepsOf(counts, distances) {
  const starts = new Uint32Array(counts.length + 1);
  const steps = new Uint32Array(distances.length);
  for (let row = 0; row < counts.length; row++) {
    starts[row + 1] = starts[row] + counts[row];
    let step = 0;
    for (let at = starts[row]; at < starts[row + 1]; at++) steps[at] = step += distances[at];
  }
  return { starts, steps };
}

// Stacks stand in an order in which all that begin with one follow it, up to `end`. Each is `frame`, called by `caller`;
// the first has no frame and calls all outermost ones.
function stacksOf(fewer, frame) {
  const count = frame.length;
  const caller = new Uint32Array(count);
  const end = new Uint32Array(count);
  const path = [0];
  let depth = 0;
  for (let stack = 1; stack < count; stack++) {
    depth += 1 - fewer[stack];
    caller[stack] = path[depth - 1];
    path[depth] = stack;
  }
  for (let stack = 0; stack < count; stack++) end[stack] = stack + 1;
  for (let stack = count - 1; stack > 0; stack--) {
    const above = caller[stack];
    if (end[above] < end[stack]) end[above] = end[stack];
  }
  return { caller, frame, end, count };
}

// The groups of frames: their names, and the group of each frame.
function groupsOf(profiles, by) {
  profiles.groups ??= {};
  return (profiles.groups[by] ??= grouped(profiles, by));
}

function grouped({ strings, frames }, by) {
  const known = new Map();
  const names = [];
  const owners = [];
  const of = new Uint32Array(frames.class.length);
  for (let frame = 0; frame < of.length; frame++) {
    const owner = strings[frames.class[frame]];
    const name = nameOf(owner, frame, strings, frames, by);
    let group = known.get(name);
    if (group === undefined) {
      group = names.push(name) - 1;
      known.set(name, group);
      owners.push(frames.kind[frame] === MARKER ? null : owner);
    }
    of[frame] = group;
  }
  return { names, of, owners };
}

function nameOf(owner, frame, strings, frames, by) {
  const method = strings[frames.method[frame]];
  if (frames.kind[frame] === MARKER) return method;
  switch (by) {
    case 'class': return owner;
    case 'package': return owner.includes('.') ? owner.slice(0, owner.lastIndexOf('.')) : '<no package>';
    case 'line': {
      const source = frames.source[frame] ? strings[frames.source[frame] - 1] : '';
      const line = frames.line[frame] ? `${source}:${frames.line[frame]}` : source;
      return `${owner}.${method}(${line || (frames.kind[frame] === 2 ? 'native' : 'unknown')})`;
    }
    default: return `${owner}.${method}`;
  }
}
