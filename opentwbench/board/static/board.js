/* Sorting, filtering, comparing, theme and downloads. Every page is whole without it. Texts enter the page as text only;
   the address's hash is taken as hostile: a value that is not one of the page's own is passed over. */
(function () {
  'use strict';
  var root = document.documentElement;
  var THEMES = ['system', 'light', 'dark'];
  function stored() {
    try { return localStorage.getItem('theme'); } catch (error) { return null; }
  }
  function dress(theme) {
    if (theme === 'light' || theme === 'dark') root.setAttribute('data-theme', theme);
    else root.removeAttribute('data-theme');
  }
  // Before the page is drawn, so that nothing flashes or moves.
  root.classList.add('js');
  dress(stored());

  function all(query, within) { return Array.prototype.slice.call((within || document).querySelectorAll(query)); }
  function value(cell) { return cell.hasAttribute('data-v') ? cell.getAttribute('data-v') : cell.textContent.trim(); }
  function rowsOf(table) { return all('tbody tr', table); }
  function heads(table) { return all('thead th', table); }

  function compare(a, b, down) {
    if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1; // what is not there stands last, either way
    var x = Number(a), y = Number(b);
    var order = isNaN(x) || isNaN(y) ? a.localeCompare(b, root.lang) : x - y;
    return down ? -order : order;
  }
  function sort(table, head, down) {
    var place = heads(table).indexOf(head);
    var body = table.tBodies[0];
    var keyed = rowsOf(table).map(function (row, n) { return [value(row.cells[place]), n, row]; });
    keyed.sort(function (a, b) { return compare(a[0], b[0], down) || a[1] - b[1]; });
    keyed.forEach(function (each) { body.appendChild(each[2]); });
    heads(table).forEach(function (each) { each.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  }
  function makeSortable(table, changed) {
    heads(table).forEach(function (head) {
      if (!head.hasAttribute('data-key')) return;
      var button = document.createElement('button');
      button.type = 'button';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () {
        var now = head.getAttribute('aria-sort');
        var down = now ? now === 'ascending' : head.hasAttribute('data-down');
        sort(table, head, down);
        if (changed) changed();
      });
    });
  }

  function record(table, row) {
    var made = {};
    // What is the same in every row of a leaderboard stands at its table.
    [['benchmark', 'benchmark'], ['protocol_name', 'protocol'], ['ranked_by', 'ranked']].forEach(function (each) {
      var held = table.getAttribute('data-' + each[1]);
      if (held !== null) made[each[0]] = held;
    });
    heads(table).forEach(function (head, n) {
      var key = head.getAttribute('data-key');
      if (!key) return;
      var cell = row.cells[n], text = value(cell), number = Number(text);
      made[key] = text === '' ? null : isNaN(number) || head.hasAttribute('data-text') ? text : number;
      if (cell.hasAttribute('data-l')) {
        made[key + '_low'] = cell.getAttribute('data-l') === '' ? null : Number(cell.getAttribute('data-l'));
        made[key + '_high'] = cell.getAttribute('data-h') === '' ? null : Number(cell.getAttribute('data-h'));
      }
    });
    return made;
  }
  function csvCell(cell) {
    if (cell === null || cell === undefined) return '';
    if (typeof cell === 'number') return String(cell);
    // A spreadsheet would carry out a text that begins so.
    var safe = /^[=+\-@\t\r]/.test(cell) ? "'" + cell : cell;
    return '"' + safe.replace(/"/g, '""') + '"';
  }
  // By benchmark and protocol where it is a leaderboard, else by the page and the table's place on it.
  function fileName(table) {
    var page = location.pathname.split('/').pop().replace(/\.html$/, '');
    var of = table.hasAttribute('data-benchmark')
      ? [table.getAttribute('data-benchmark'), table.getAttribute('data-protocol')] : [page, table.id || 'table'];
    return ['opentwbench'].concat(of).join('-').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 120);
  }
  function save(table, kind) {
    var rows = rowsOf(table).filter(function (row) { return !row.hidden; })
      .map(function (row) { return record(table, row); });
    var text;
    if (kind === 'json') text = JSON.stringify(rows, null, 1) + '\n';
    else {
      var keys = rows.length ? Object.keys(rows[0]) : [];
      text = [keys.join(',')].concat(rows.map(function (row) {
        return keys.map(function (key) { return csvCell(row[key]); }).join(',');
      })).join('\r\n') + '\r\n';
    }
    var link = document.createElement('a');
    var type = kind === 'json' ? 'application/json' : 'text/csv;charset=utf-8';
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = fileName(table) + '.' + kind;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  function readHash() {
    var found = {};
    location.hash.slice(1, 600).split('&').forEach(function (part) {
      var cut = part.indexOf('=');
      if (cut < 1) return;
      try { found[part.slice(0, cut)] = decodeURIComponent(part.slice(cut + 1)); } catch (error) { /* no text */ }
    });
    return found;
  }

  function board(table) {
    var form = document.getElementById('filters'), panel = document.getElementById('compare');
    var status = document.getElementById('status'), chosen = [], MOST = 5;
    // The first half of a character beyond the basic plane: a cut leaves it, and encodeURIComponent throws at it.
    var HALF = /[\uD800-\uDBFF]$/;
    // As the page was written: what a hash that names no order goes back to.
    var first = table.querySelector('th[aria-sort]'), written = rowsOf(table);
    function restore() {
      written.forEach(function (row) { table.tBodies[0].appendChild(row); });
      heads(table).forEach(function (each) { each.removeAttribute('aria-sort'); });
      if (first) first.setAttribute('aria-sort', 'descending');
    }
    function picks() { return rowsOf(table).map(function (row) { return row.querySelector('.pick input'); }); }
    function rowOf(id) { return rowsOf(table).filter(function (row) { return row.getAttribute('data-id') === id; })[0]; }

    function filter() {
      var q = form.elements.q.value.trim().toLowerCase(), family = form.elements.family.value;
      var size = form.elements.size.value, shown = 0;
      rowsOf(table).forEach(function (row) {
        var fits = (!q || row.cells[2].textContent.toLowerCase().indexOf(q) >= 0) &&
          (!family || row.getAttribute('data-family') === family) && (!size || row.getAttribute('data-size') === size) &&
          (!form.elements.open.checked || row.hasAttribute('data-open')) &&
          (!form.elements.tw.checked || row.hasAttribute('data-tw'));
        row.hidden = !fits;
        if (fits) shown += 1;
      });
      say(shown);
    }
    function say(shown) {
      status.textContent = status.getAttribute('data-shown').replace('{n}', shown).replace('{all}', rowsOf(table).length);
    }
    function cell(kind, text, scope) {
      var made = document.createElement(kind);
      made.textContent = text;
      if (scope) made.scope = scope;
      return made;
    }
    function drawComparison() {
      var box = panel.querySelector('.scroll');
      box.textContent = '';
      panel.hidden = chosen.length < 2;
      if (panel.hidden) return;
      var rows = chosen.map(rowOf), made = document.createElement('table');
      var top = made.createTHead().insertRow(), body = made.createTBody();
      top.appendChild(cell('td', ''));
      rows.forEach(function (row) {
        var head = cell('th', '', 'col');
        var link = row.cells[2].querySelector('a').cloneNode(true);
        head.appendChild(link);
        top.appendChild(head);
      });
      heads(table).forEach(function (head, n) {
        var key = head.getAttribute('data-key');
        if (!key || key === 'model') return;
        var line = body.insertRow();
        line.appendChild(cell('th', head.textContent.trim(), 'row'));
        rows.forEach(function (row) {
          var of = row.cells[n], number = of.querySelector('.num'), bounds = of.querySelector('.ci');
          var text = number ? number.textContent + ' (' + bounds.textContent + ')' : of.textContent.trim();
          line.appendChild(cell('td', text)).className = 'n';
        });
      });
      box.appendChild(made);
    }
    function pick(box) {
      var id = box.closest('tr').getAttribute('data-id');
      if (box.checked && chosen.length >= MOST) {
        box.checked = false;
        status.textContent = status.getAttribute('data-full');
        return;
      }
      chosen = box.checked ? chosen.concat(id) : chosen.filter(function (each) { return each !== id; });
      drawComparison();
      writeHash();
    }
    function writeHash() {
      var parts = [], head = table.querySelector('th[aria-sort]');
      var down = head && head.getAttribute('aria-sort') === 'descending';
      if (head && (head !== first || !down)) parts.push('sort=' + head.getAttribute('data-key') + (down ? '.down' : '.up'));
      ['q', 'family', 'size'].forEach(function (name) {
        if (form.elements[name].value) parts.push(name + '=' + encodeURIComponent(form.elements[name].value));
      });
      ['open', 'tw'].forEach(function (name) { if (form.elements[name].checked) parts.push(name + '=1'); });
      if (chosen.length) parts.push('compare=' + chosen.join('.'));
      history.replaceState(null, '', parts.length ? '#' + parts.join('&') : location.pathname + location.search);
      carry();
    }
    function takeHash() {
      var given = readHash();
      form.elements.q.value = (given.q || '').slice(0, 60).replace(HALF, '');
      ['family', 'size'].forEach(function (name) {
        var known = all('option', form.elements[name]).some(function (each) { return each.value === given[name]; });
        form.elements[name].value = known ? given[name] : '';
      });
      ['open', 'tw'].forEach(function (name) { form.elements[name].checked = given[name] === '1'; });
      var wish = /^([a-z_]{1,40})\.(up|down)$/.exec(given.sort || '');
      var head = wish && heads(table).filter(function (each) { return each.getAttribute('data-key') === wish[1]; })[0];
      if (head) sort(table, head, wish[2] === 'down');
      else restore();
      chosen = (given.compare || '').split('.').filter(function (id, n, every) {
        return every.indexOf(id) === n && !!rowOf(id);
      }).slice(0, MOST);
      picks().forEach(function (box) { box.checked = chosen.indexOf(box.closest('tr').getAttribute('data-id')) >= 0; });
      drawComparison();
      filter();
      carry();
    }

    makeSortable(table, writeHash);
    form.addEventListener('submit', function (event) { event.preventDefault(); });
    form.addEventListener('input', function () { filter(); writeHash(); });
    table.addEventListener('change', function (event) { if (event.target.closest('.pick')) pick(event.target); });
    document.getElementById('compare-clear').addEventListener('click', function () {
      chosen = [];
      picks().forEach(function (box) { box.checked = false; });
      drawComparison();
      writeHash();
      form.elements.q.focus();
    });
    window.addEventListener('hashchange', takeHash);
    takeHash();
  }

  // The counterpart in the other language opens in the same state.
  function carry() {
    var link = document.getElementById('language');
    if (link) link.href = link.href.split('#')[0] + location.hash;
  }

  document.addEventListener('DOMContentLoaded', function () {
    var choice = document.getElementById('theme');
    if (choice) {
      choice.value = THEMES.indexOf(stored()) > 0 ? stored() : 'system';
      choice.addEventListener('change', function () {
        var theme = THEMES.indexOf(choice.value) > 0 ? choice.value : 'system';
        dress(theme);
        try { localStorage.setItem('theme', theme); } catch (error) { /* a private window keeps nothing */ }
      });
    }
    all('table[data-sort]').forEach(function (table) {
      if (table.id === 'board') board(table);
      else makeSortable(table);
    });
    all('button[data-save]').forEach(function (button) {
      button.addEventListener('click', function () {
        save(document.getElementById(button.getAttribute('data-of')), button.getAttribute('data-save'));
      });
    });
    window.addEventListener('hashchange', carry);
    carry();
  });
})();
