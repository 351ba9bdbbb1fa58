"""Addresses that anybody could send of the public board, and what must hold after each.

A board has no server: what comes from outside is the query and the hash of its address, and its one script reads the
hash alone. `addresses` draws hostile and half-valid ones; `LOOK` is put into an open page and says what is wrong there.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SEED = int(os.environ.get("OTB_FUZZ_SEED", "1"))
EXAMPLES = int(os.environ.get("OTB_FUZZ_EXAMPLES", "200"))

tried = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""A deadline would fail where the machine is busy."""

NAMES = ("sort", "q", "family", "size", "open", "tw", "compare")
"""The parameters of the hash (board.js, readHash and takeHash)."""

STRANGE_NAMES = (
    "__proto__",
    "constructor",
    "toString",
    "prototype",
    "lang",
    "theme",
    "",
    "sort[]",
    "Q",
    "q%00",
    "%73ort",
)

HOSTILE = (
    "<script>alert(1)</script>", "<img src=//127.0.0.1:9/x onerror=alert(1)>", '"><svg onload=alert(1)>',
    "javascript:alert(1)", "//127.0.0.1:9/x", "https://127.0.0.1:9/x", "data:text/html,<b>", "../../etc/passwd",
    "__proto__", "constructor", "hasOwnProperty", "null", "undefined", "NaN", "Infinity", "-0", "1e400", "true", "{}",
    "%", "%2", "%zz", "%E0%A4%A", "%ED%A0%80", "%00", "%ff", "%0A", "%25", "%26sort%3Dmodel.up", "&", "=", "#", ".",
    "\u202e", "\u200f", "\u2067\u2069", "\u0000", "甲乙", "\U0001f600", "'", '"', "\\", "`", "[type=x],*", "$&", "{n}",
    "model", "accuracy", ".up", ".down", "1", " ",
)  # fmt: skip


def addresses(known: dict[str, list[str]]) -> st.SearchStrategy[str]:
    """Hashes, without their '#': the page's own parameters and others, with known values and any.

    `known` holds the values of the page by parameter; `compare` are the ids of its rows, `sort` its keys.
    """
    piece = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    strange = st.lists(piece, max_size=4).map("".join)
    long = st.builds(lambda text, times: (text * times)[:3_000], piece, st.integers(1, 2_000))
    # A place that a bound of the script cuts: an escape, a pair of surrogates, a name.
    edge = st.builds(
        lambda n, text, times: "a" * n + text * times,
        st.integers(0, 3) | st.integers(56, 62) | st.integers(560, 600),
        st.just("\U0001f600") | piece,
        st.integers(1, 40),
    )
    row, key, way = st.sampled_from(known["compare"]), st.sampled_from(known["sort"]), st.sampled_from(["up", "down"])
    ids = st.lists(st.one_of(row, row, row, row, piece), min_size=2, max_size=12).map(".".join)
    order = st.builds("{}.{}".format, st.one_of(key, key, key, piece), st.one_of(way, way, way, way, piece))
    some = st.sampled_from([value for name in ("family", "size", "q") for value in known[name]])
    value = st.one_of(strange, long, edge, ids, order, some, st.just("1"))
    half_valid = st.fixed_dictionaries(
        {},
        optional={
            "sort": order,
            "compare": ids,
            **{name: st.sampled_from(known[name]) | edge for name in ("family", "size")},
            # The one text of the address that is free: whatever acts may stand there.
            "q": st.sampled_from(known["q"]) | edge | st.sampled_from(HOSTILE),
            **{name: st.just("1") for name in ("open", "tw")},
        },
    ).map(lambda given: [f"{name}={quote(value)}" for name, value in given.items()])
    anything = st.builds("{}={}".format, st.sampled_from(NAMES) | st.sampled_from(STRANGE_NAMES) | piece, value)
    more = st.lists(anything | strange, max_size=4)
    # Of one name given twice the script takes the last.
    return st.builds(
        lambda some, others, first: "&".join(some + others if first else others + some), half_valid, more, st.booleans()
    )


BEFORE = "window.nativesBefore = Object.getOwnPropertyNames(Object.prototype).join(' ');"
"""Runs in a page before its script does: what the script changes while it starts is a change too."""

LOOK = """() => {
  const table = document.getElementById('board') || document.querySelector('table[data-sort]');
  const form = document.getElementById('filters'), panel = document.getElementById('compare');
  const link = document.getElementById('language'), counterpart = link.href.split('#')[0];
  const rows = () => [...table.tBodies[0].rows];
  const ids = () => rows().map(row => row.dataset.id), written = ids().sort().join(' ');
  const options = name => [...form.elements[name].options].map(each => each.value);
  const keys = [...table.querySelectorAll('thead th[data-key]')].map(each => each.dataset.key);
  const natives = () => Object.getOwnPropertyNames(Object.prototype).join(' '), native = window.nativesBefore;
  const place = () => location.href.split('#')[0];
  const anchors = new Set(rows().map(row => row.querySelector('th a')).filter(Boolean).map(each => each.outerHTML));

  // The whole page but for what the script may change: order and hiding of rows, the comparison, a line of text.
  const page = () => {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelector('#language').removeAttribute('href');
    if (!form) return copy.outerHTML;
    copy.querySelector('#compare').removeAttribute('hidden');
    copy.querySelector('#compare .scroll').textContent = '';
    const status = copy.querySelector('#status');
    if (!status.children.length) status.textContent = '';
    const board = copy.querySelector('#board');
    board.querySelectorAll('thead th').forEach(each => each.removeAttribute('aria-sort'));
    [...board.tBodies[0].rows].sort((a, b) => a.dataset.id < b.dataset.id ? -1 : 1)
      .forEach(row => { row.removeAttribute('hidden'); board.tBodies[0].appendChild(row); });
    return copy.outerHTML;
  };

  const compared = () => panel ? [...panel.querySelectorAll('.scroll thead th')] : [];
  const looksWrong = clean => {
    const wrong = [];
    if (page() !== clean) wrong.push('the page holds something else');
    if (natives() !== native) wrong.push('Object.prototype was changed');
    if (localStorage.length + sessionStorage.length || document.cookie) wrong.push('something is stored');
    if (link.href.split('#')[0] !== counterpart) wrong.push('the other language is another page');
    if (!form) return wrong;
    if (ids().sort().join(' ') !== written) wrong.push('the rows are others');
    const heads = compared();
    if (heads.length === 1 || heads.length > 5) wrong.push(heads.length + ' models are compared');
    if (heads.some(each => !anchors.has(each.innerHTML))) wrong.push('what is compared is no model of the table');
    if (new Set(heads.map(each => each.innerHTML)).size !== heads.length) wrong.push('one model is compared twice');
    const tags = new Set([...panel.querySelectorAll('.scroll :not(thead th *)')].map(each => each.tagName));
    if ([...tags].some(tag => !['TABLE', 'THEAD', 'TBODY', 'TR', 'TD', 'TH'].includes(tag)))
      wrong.push('the comparison holds ' + [...tags]);
    if (form.elements.q.value.length > 60) wrong.push('a name of more than 60 characters is looked for');
    return wrong;
  };

  const decoded = text => { try { return decodeURIComponent(text); } catch (error) { return null; } };
  const known = {
    sort: text => /\\.(up|down)$/.test(text) && keys.includes(text.replace(/\\.(up|down)$/, '')),
    q: text => encodeURIComponent(decoded(text)) === text && decoded(text) === form.elements.q.value,
    family: text => options('family').includes(decoded(text)),
    size: text => options('size').includes(decoded(text)),
    open: text => text === '1',
    tw: text => text === '1',
    compare: text => {
      const given = text.split('.');
      return given.length <= 5 && new Set(given).size === given.length && given.every(id => ids().includes(id));
    },
  };
  const writesWrong = () => {
    const wrong = [], seen = new Set();
    for (const part of location.hash.slice(1).split('&').filter(Boolean)) {
      const name = part.split('=', 1)[0], value = part.slice(name.length + 1);
      if (!Object.hasOwn(known, name) || seen.has(name) || !known[name](value)) wrong.push('written back: ' + part);
      seen.add(name);
    }
    if (link.href !== counterpart + location.hash) wrong.push('the other language opens in another state');
    return wrong;
  };

  const worksNot = () => {
    const head = table.querySelector('th[data-key=model]') || table.querySelector('th[data-key]'), before = place();
    const was = head.getAttribute('aria-sort');
    head.querySelector('button').click();
    const wrong = form ? writesWrong() : [], now = head.getAttribute('aria-sort');
    if (!['ascending', 'descending'].includes(now) || now === was) wrong.push('a click on a heading does not sort');
    if (place() !== before) wrong.push('the page has another address');
    return wrong;
  };

  const clean = page();
  const state = clean => {
    const first = table.querySelector('th[aria-sort]'), shown = rows().filter(row => !row.hidden).length;
    const did = { filtered: shown < rows().length, shown: shown > 0, compared: compared().length > 1,
      sorted: !!first && first.dataset.key !== 'accuracy' };
    return { wrong: looksWrong(clean).concat(worksNot()), did };
  };
  return {
    clean, state,
    known: form && { sort: keys, compare: ids(), q: keys.slice(0, 3),
      family: options('family').filter(Boolean), size: options('size').filter(Boolean) },
    async open(hash) {
      const before = location.href;
      const heard = new Promise(done => addEventListener('hashchange', done, { once: true }));
      location.hash = hash;
      if (location.href !== before) await heard;
      return state(clean);
    },
  };
}"""
"""Evaluates to an object: `open(hash)` goes there in the open page, `state(clean)` judges what is open by the text of
the page without an address (`clean`). Both give `wrong`, a list of words, and `did`, what the address brought about."""


def look(page: Any) -> Any:
    """The object in an open page."""
    return page.evaluate_handle(LOOK)
