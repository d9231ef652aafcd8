// SPDX-License-Identifier: Apache-2.0

extension ConsolePage {
  /// What is shown is set as text, never as HTML: names and reasons come from outside.
  static let script = """
    'use strict';
    const $ = id => document.getElementById(id);
    const deliveries = [];
    let isPaused = false;
    const number = value => value === null || value === undefined ? '–'
      : value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
    const rate = value => number(value) + '/s';
    const seconds = value => value === null || value === undefined ? '–'
      : value < 1 ? number(Math.round(value * 1000)) + ' ms'
      : value < 120 ? number(value) + ' s'
      : value < 7200 ? number(Math.round(value / 60)) + ' min'
      : value < 172800 ? number(Math.round(value / 3600)) + ' h'
      : number(Math.round(value / 86400)) + ' d';
    const list = (counts, text) =>
      Object.entries(counts).map(([name, value]) => name + ' ' + text(value)).join(', ') || '–';
    const element = (tag, text, name) => {
      const made = document.createElement(tag);
      if (text !== undefined) made.textContent = text;
      if (name) made.className = name;
      return made;
    };
    const sum = counts => Object.values(counts).reduce((a, b) => a + b, 0);
    const word = { ready: 'ready', not_ready: 'NOT READY', unreachable: 'UNREACHABLE' };

    function box(title, figures, isWell) {
      const item = element('li');
      const inner = element('div', undefined, isWell ? 'box' : 'box bad');
      inner.append(element('b', isWell ? title : title + ' (blocked)'));
      for (const figure of figures) { inner.append(element('span', figure), element('br')); }
      item.append(inner);
      return item;
    }

    function isWell(status, start) {
      return status.processes.every(p => !p.name.replace('martlet-', '').startsWith(start) || p.state === 'ready');
    }

    function flow(status) {
      const isBlocked = Object.keys(status.destinations).some(state => state !== 'working');
      const ended = status.outcomes_per_second;
      const open = sum(status.connections);
      const boxes = [
        box('Requests', [rate(status.requests_per_second)], isWell(status, 'api')),
        box('Ingest', ['validates'], isWell(status, 'ingest')),
        box('Senders', [number(status.in_flight) + ' in flight', number(status.waiting) + ' waiting'],
          isWell(status, 'sender')),
        box('APNs', [number(open) + (open === 1 ? ' connection' : ' connections')], !isBlocked),
        box('Receipts', [rate(sum(ended)), 'delivered ' + rate(ended.delivered || 0)], true),
        box('Feedback', ['judges device tokens'], isWell(status, 'feedback')),
      ];
      if (status.processes.some(p => p.name.includes('webhooks'))) {
        boxes.push(box('Webhooks', ['tell subscribers'], isWell(status, 'webhooks')));
      }
      return boxes;
    }

    function figures(status) {
      const delivery = status.delivery_seconds;
      return [
        ['Outcomes', list(status.outcomes_per_second, rate)],
        ['In total', list(status.outcomes_total, number)],
        ['Delivery', delivery ? 'p50 ' + seconds(delivery.p50) + ', p99 ' + seconds(delivery.p99) : 'none yet'],
        ['Oldest unfinished', list(status.backlog_seconds, seconds)],
        ['Retries', list(status.retries_per_second, rate)],
        ['Refusals', list(status.reasons_total, number)],
        ['Connections', list(status.connections, number)],
        ['Oldest provider token', seconds(status.oldest_token_seconds)],
        ['First certificate expires in', seconds(status.next_certificate_expiry_seconds)],
        ['Canaries', status.canaries.map(c => c.name + ' ' + (c.success ? 'delivered' : 'FAILS')).join(', ') || '–'],
      ];
    }

    function chart(status) {
      deliveries.push(status.outcomes_per_second.delivered || 0);
      if (deliveries.length > 120) deliveries.shift();
      const top = Math.max(1, ...deliveries);
      const first = 120 - deliveries.length;
      $('line').setAttribute('points',
        deliveries.map((value, index) => (first + index) + ',' + (98 - 96 * value / top)).join(' '));
      $('chart').setAttribute('aria-label',
        'Delivered now ' + rate(deliveries[deliveries.length - 1]) + ', at most ' + rate(top));
    }

    function row(process) {
      const made = element('tr');
      const name = element('th', process.name);
      name.scope = 'row';
      made.append(name, element('td', word[process.state], process.state === 'ready' ? 'good' : 'bad'));
      made.append(element('td', process.cores === null ? '–' : number(process.cores * 100) + ' %', 'number'));
      made.append(element('td', number(process.resident_bytes / 1048576) + ' MiB', 'number'));
      return made;
    }

    function show(status) {
      if (status.waiting) return state('Waiting: ' + status.waiting, false);
      state(status.ready ? 'Ready' : 'Not ready', status.ready);
      const known = Array.from($('warnings').children).map(item => item.textContent);
      if (JSON.stringify(known) !== JSON.stringify(status.warnings)) {
        $('warnings').replaceChildren(...status.warnings.map(text => element('li', text)));
      }
      $('flow').replaceChildren(...flow(status));
      $('figures').replaceChildren(
        ...figures(status).flatMap(([name, value]) => [element('dt', name), element('dd', value)]));
      $('processes').replaceChildren(...status.processes.map(row));
      chart(status);
    }

    function state(text, good) {
      if ($('state').textContent !== text) $('state').textContent = text;
      $('state').className = good ? 'good' : 'bad';
      $('time').textContent = new Date().toLocaleTimeString();
    }

    async function turn() {
      try {
        const limit = AbortSignal.timeout(5000);
        const status = isPaused || await (await fetch('status.json', { cache: 'no-store', signal: limit })).json();
        if (!isPaused) show(status);
      } catch (error) {
        if (!isPaused) state('No answer from martlet console', false);
      }
      setTimeout(turn, 1000);
    }

    $('pause').addEventListener('click', () => {
      isPaused = !isPaused;
      $('pause').setAttribute('aria-pressed', isPaused);
      if (isPaused) $('time').textContent += ' (paused)';
    });
    turn();
    """
}
