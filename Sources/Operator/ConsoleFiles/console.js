// SPDX-License-Identifier: Apache-2.0
//
// The script of the page. It sets all text as text, never as HTML, because names and reasons come from outside. The
// parts of the page are shown independently, so that an error in one does not affect the others.
'use strict';
const $ = id => document.getElementById(id);
const most = 360;
let isFrozen = false;
let newest = { time: null, seenAt: 0 };
const isNumber = value => typeof value === 'number' && isFinite(value);
const number = value => !isNumber(value) ? '–'
  : value >= 1e6 ? value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 })
  : value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
const whole = value => !isNumber(value) ? '–'
  : value >= 1e9 ? number(value) : Math.round(value).toLocaleString('en');
const rate = value => number(value) + '/s';
const seconds = value => !isNumber(value) ? '–'
  : value < 0.0005 ? '0 s'
  : value < 1 ? number(Math.round(value * 1000)) + ' ms'
  : value < 120 ? number(value) + ' s'
  : value < 7200 ? number(Math.round(value / 60)) + ' min'
  : value < 172800 ? number(Math.round(value / 3600)) + ' h'
  : number(Math.round(value / 86400)) + ' d';
const expiry = left => !isNumber(left) ? '–'
  : left < 0 ? 'expired ' + seconds(-left) + ' ago' : 'expires in ' + seconds(left);
const clock = time => isNumber(time) && time > 0 && time < 8e12
  ? new Date(time * 1000).toISOString().slice(11, 19) + ' UTC' : '';
const words = name => name.replaceAll('_', ' ');
const entries = counts => Object.entries(counts || {});
const list = (counts, text) =>
  entries(counts).map(([name, value]) => words(name) + ' ' + text(value)).join(', ') || '–';
const finite = value => isNumber(value) ? value : 0;
const sum = counts => entries(counts).reduce((all, [, value]) => all + finite(value), 0);
const failures = ['rejected', 'expired', 'dead_lettered'];
const failed = counts => failures.reduce((all, name) => all + finite((counts || {})[name]), 0);
const processes = status => status.processes || [];
const word = { ready: 'ready', not_ready: 'NOT READY', unreachable: 'UNREACHABLE' };
const headline = { ready: ['Ready', 'good'], degraded: ['Degraded', 'warn'], blocked: ['Blocked', 'bad'] };

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function row(name, cells) {
  const made = element('tr');
  const head = element('th', name);
  head.scope = 'row';
  made.append(head, ...cells.map(cell => Array.isArray(cell) ? element('td', ...cell) : element('td', cell, 'number')));
  return made;
}

// Parts of the page.

function state(status) {
  const [text, name] = headline[status.state] || ['Unknown', 'bad'];
  headed(text, name);
  document.body.className = status.state === 'blocked' ? 'blocked' : '';
}

function headed(text, name) {
  if ($('state').textContent !== text) $('state').textContent = text;
  $('state').className = name;
}

function warnings(status) {
  const texts = status.warnings || [];
  const known = Array.from($('warnings').children).map(item => item.textContent);
  $('problems').hidden = texts.length === 0;
  if (JSON.stringify(known) !== JSON.stringify(texts)) {
    $('warnings').replaceChildren(...texts.map(text => element('li', text)));
  }
}

const states = { gateway: 'gateway fails', connects: 'no connection', credential: 'credential refused',
  app: 'app refused', no_token: 'no provider token' };

function blocked(status) {
  const all = status.blocked || [];
  $('blocked-part').hidden = all.length === 0;
  $('blocked').replaceChildren(...all.map(one => row(one.app || 'all apps', [
    [one.reason || states[one.state] || one.state], [one.credential], [one.environment],
    seconds(one.seconds), whole(one.waiting),
  ])));
}

function isWell(status, start) {
  return processes(status).every(p => !p.name.replace('martlet-', '').startsWith(start) || p.state === 'ready');
}

function box(title, figures, isWell) {
  const item = element('li');
  const inner = element('div', undefined, isWell ? 'box' : 'box bad');
  inner.append(element('b', isWell ? title : title + ' (blocked)'), ...figures.map(text => element('span', text)));
  item.append(inner);
  return item;
}

function flow(status) {
  const isBlocked = entries(status.destinations).some(([state]) => state !== 'working');
  const ended = status.outcomes_per_second || {};
  const open = sum(status.connections);
  const boxes = [
    box('Requests', [rate(status.requests_per_second), 'refused ' + rate(status.refused_per_second || 0)],
      isWell(status, 'api')),
    box('Ingest', [rate((status.ingest_per_second || {}).accepted || 0) + ' accepted'], isWell(status, 'ingest')),
    box('Senders', [number(status.in_flight) + ' in flight', number(status.waiting) + ' waiting'],
      isWell(status, 'sender')),
    box('APNs', [number(open) + (open === 1 ? ' connection' : ' connections')], !isBlocked),
    box('Receipts', ['delivered ' + rate(ended.delivered || 0), 'failed ' + rate(failed(ended))], true),
    box('Feedback',
      [isNumber(status.invalid_tokens) ? whole(status.invalid_tokens) + ' invalid tokens' : 'device tokens'],
      isWell(status, 'feedback')),
  ];
  if (processes(status).some(p => p.name.includes('webhooks'))) {
    boxes.push(box('Webhooks', ['subscribers'], isWell(status, 'webhooks')));
  }
  $('flow').replaceChildren(...boxes);
}

const outcomes = { delivered: 'delivered', rejected: 'rejected by APNs', expired: 'expired', suppressed: 'suppressed',
  deduplicated: 'repeated, not sent', superseded: 'superseded by newer ones', cancelled: 'cancelled with a campaign',
  dead_lettered: 'dead letters' };
const ingested = { suppressed: 'suppressed by ingest', rejected: 'dead letters of ingest' };

function ended(status) {
  const line = (names, perSecond, total) => Object.entries(names)
    .filter(([name]) => name === 'delivered' || (total || {})[name])
    .map(([name, text]) => row(text, [rate((perSecond || {})[name] || 0), whole((total || {})[name] || 0)]));
  $('ended').replaceChildren(...line(outcomes, status.outcomes_per_second, status.outcomes_total),
    ...line(ingested, status.ingest_per_second, status.ingest_total));
}

function waits(status) {
  const unread = status.unread_records || {};
  const inKafka = test => entries(unread).reduce((all, [topic, count]) => all + (test(topic) ? finite(count) : 0), 0);
  const ages = status.backlog_seconds || {};
  const isPaused = (status.paused || {}).lane ? ' (a lane is paused)' : '';
  // The first lane's topic has no name behind it.
  const lanes = Array.isArray(status.lanes) ? status.lanes : Object.keys(ages).filter(name => name !== 'retries');
  const ending = lane => lane === lanes[0] ? 'notifications' : 'notifications.' + lane;
  $('waits').replaceChildren(
    row('requests', [seconds(status.requests_oldest_seconds), whole(inKafka(topic => topic.endsWith('requests')
      && !topic.endsWith('token-requests')))]),
    ...lanes.map(lane => row(lane + isPaused, [seconds(ages[lane]),
      whole(inKafka(topic => topic.endsWith(ending(lane))))])),
    ...(!isNumber(status.scheduled) ? []
      : [row('scheduled', [seconds(status.schedule_late_seconds), whole(status.scheduled)])]),
    row('retry topics', [seconds(ages.retries), whole(inKafka(topic => topic.includes('retries.')))]));
}

const share = (part, all) =>
  isNumber(part) && isNumber(all) && all > 0 ? Math.min(100, Math.max(0, 100 * part / all)) : 0;
const percent = value => isNumber(value) ? number(value) + ' %' : '–';

// How many devices are addressed, and above it how many have an outcome.
function bar(campaign) {
  const cell = element('td');
  const made = element('span', undefined, campaign.state === 'stopped' ? 'bar bad' : 'bar');
  for (const part of [campaign.addressed, campaign.ended]) {
    const piece = element('i');
    piece.style.width = share(part, campaign.total) + '%';
    made.append(piece);
  }
  const text = isNumber(campaign.total)
    ? whole(campaign.addressed) + ' of ' + whole(campaign.total)
      + ' (' + percent(share(campaign.addressed, campaign.total)) + ')'
    : whole(campaign.addressed) + ' addressed';
  cell.append(element('span', text, 'count'), made);
  return cell;
}

function campaigns(status) {
  const all = status.campaigns || [];
  const names = all.map(one => one.name);
  // Apps and environments have names of their own.
  const named = one => names.indexOf(one.name) === names.lastIndexOf(one.name)
    ? one.name : one.name + ' (' + one.app + ' ' + one.environment + ')';
  $('campaigns-part').hidden = all.length === 0;
  $('campaigns').replaceChildren(...all.map(one => {
    const made = row(named(one), [
      [one.state + (one.reason ? ': ' + one.reason : ''), one.state === 'stopped' ? 'bad' : ''],
      one.per_second ? rate(one.per_second) : '–', seconds(one.seconds_left), percent(one.rejected_percent)]);
    made.children[1].after(bar(one));
    return made;
  }));
  const others = status.campaigns_unlisted;
  $('campaigns-more').hidden = !others;
  $('campaigns-more').textContent = whole(others) + ' more; martlet campaign list has all';
}

function figures(status) {
  const delivery = status.delivery_seconds;
  const paused = entries(status.paused).map(([kind, count]) => number(count) + ' ' + kind + (count === 1 ? '' : 's'));
  const all = [
    ['Delivery', delivery ? 'p50 ' + seconds(delivery.p50) + ', p99 ' + seconds(delivery.p99)
      : status.delivery_seconds_since_start ? 'none in the last minute' : 'none yet'],
    ['Retries', list(status.retries_per_second, rate)],
    ['Refusals by APNs', list(status.reasons_total, whole)],
    ['Connections', list(status.connections, number)],
    ['Paused by an operator', paused.join(', ') || '–'],
    ['Paces set', status.paces ? number(status.paces) : '–'],
    ['Oldest provider token', seconds(status.oldest_token_seconds)],
    ['First certificate', expiry(status.next_certificate_expiry_seconds)],
    ['Canaries',
      (status.canaries || []).map(c => c.name + ' ' + (c.success ? 'delivered' : 'FAILS')).join(', ') || '–'],
  ];
  $('figures').replaceChildren(...all.flatMap(([name, value]) => [element('dt', name), element('dd', value)]));
}

// The smallest of 1, 2, 5, 10, 20, … that is no less.
function scale(value) {
  const power = Math.pow(10, Math.floor(Math.log10(Math.max(1, value))));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= value) || value;
}

// The past comes with the status; the last point is now.
function chart(status) {
  const ended = status.outcomes_per_second || {};
  const past = name => ((status.history || {})[name] || []).slice(1 - most);
  const now = { delivered: finite(ended.delivered), failed: failed(ended) };
  const delivered = [...past('delivered'), now.delivered];
  const failures = [...past('failed'), now.failed];
  const top = scale(Math.max(...delivered.map(finite), ...failures.map(finite)));
  const line = values => values.map((value, index) => !isNumber(value) ? ''
    : (most - values.length + index) + ',' + (99 - 98 * value / top)).filter(point => point).join(' ');
  $('line').setAttribute('points', line(delivered));
  $('failed-line').setAttribute('points', line(failures));
  $('top').textContent = number(top);
  $('half').textContent = number(top / 2);
  $('first').textContent = isNumber(status.time) ? clock(status.time - 10 * (most - 1)) : '';
  $('last').textContent = clock(status.time);
  $('chart').setAttribute('aria-label', 'Delivered now ' + rate(now.delivered) + ', failed ' + rate(now.failed)
    + '; the scale ends at ' + rate(top));
}

function table(status) {
  $('processes').replaceChildren(...processes(status).map(process => row(process.name, [
    [word[process.state] || process.state, process.state === 'ready' ? 'good' : 'bad'],
    isNumber(process.cores) ? number(process.cores * 100) + ' %' : '–',
    process.resident_bytes ? number(process.resident_bytes / 1048576) + ' MiB' : '–',
  ])));
}

function show(status) {
  if (status.unavailable !== undefined) return stale(status.unavailable);
  if (status.time !== newest.time) newest = { time: status.time, seenAt: performance.now() };
  if (performance.now() > newest.seenAt + 15000) return stale('martlet console has no new reading');
  $('stale').hidden = true;
  $('main').className = '';
  $('time').textContent = clock(status.time);
  for (const part of [state, warnings, blocked, flow, ended, waits, campaigns, figures, table, chart]) {
    try {
      part(status);
    } catch (error) {
      console.error(part.name, error);
    }
  }
}

// What is shown is not of now.
function stale(text) {
  const since = clock(newest.time);
  headed(since ? 'No reading since ' + since : 'No reading', 'bad');
  if ($('stale').textContent !== text) $('stale').textContent = text;
  $('stale').hidden = false;
  $('main').className = since ? 'stale' : '';
}

async function turn() {
  try {
    const limit = AbortSignal.timeout(5000);
    const status = isFrozen || await (await fetch('status.json', { cache: 'no-store', signal: limit })).json();
    if (!isFrozen) show(status);
  } catch (error) {
    if (!isFrozen) stale('No answer from martlet console');
  }
  setTimeout(turn, 1000);
}

$('freeze').addEventListener('click', () => {
  isFrozen = !isFrozen;
  $('freeze').setAttribute('aria-pressed', isFrozen);
  if (isFrozen) $('time').textContent += ' (display frozen)';
});
turn();
