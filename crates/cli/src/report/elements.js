// Elements of the page. Texts become text nodes, never markup.

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== 'list') made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A text of the program's; the whole of it shows where the pointer rests.
function nameText(text, longest = 160) {
  const short = shown(text, longest);
  return element('span', { className: 'name', title: shown(text, 2000) }, short);
}

// A link in the page.
function link(text, action) {
  return element('button', { type: 'button', className: 'link', title: shown(text, 2000), onclick: action },
    shown(text, 160));
}

function button(text, action, properties = {}) {
  return element('button', { type: 'button', onclick: action, ...properties }, text);
}

// A choice with a label; `choices` are pairs of a value and a text.
function choice(label, choices, value, chosen) {
  const options = choices.map(([key, text]) =>
    element('option', { value: key, selected: String(key) === String(value) }, shown(text, 60)));
  const select = element('select', { onchange: () => chosen(select.value) }, ...options);
  select.dataset.focus = label;
  return element('label', {}, element('span', {}, label), select);
}

function toggle(label, on, switched, properties = {}) {
  const box = element('input', { type: 'checkbox', checked: on, onchange: () => switched(box.checked) });
  box.dataset.focus = label;
  return element('label', { className: 'toggle', ...properties }, box, element('span', {}, label));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element('textarea', { value: text, className: 'offscreen' });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say('Copied');
}

// Says something for a moment.
function say(text) {
  const place = document.getElementById('said');
  place.textContent = text;
  place.classList.add('seen');
  clearTimeout(say.timer);
  say.timer = setTimeout(() => place.classList.remove('seen'), 1800);
}
