/**
 * The plugin of Swagger UI that both views of the explorer have. It follows the light or dark of the reader's system; the filter
 * looks for every word in group, method, path, summary and operationId, and shows what it found. Plain text for browsers.
 */
export const EXPLORER_PLUGIN = `() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();

  const isFiltered = (state) => typeof state.get('filter') === 'string' && state.get('filter').trim() !== '';
  const textOf = (tag, item) =>
    [tag, item.get('method'), item.get('path'), item.getIn(['operation', 'summary']), item.getIn(['operation', 'operationId'])]
      .join(' ')
      .toLowerCase();

  return {
    fn: {
      opsFilter(tags, phrase) {
        const words = phrase.toLowerCase().split(/\\s+/);
        const fits = (tag) => (item) => words.every((word) => textOf(tag, item).includes(word));
        return tags
          .map((group, tag) => group.update('operations', (items) => items.filter(fits(tag))))
          .filter((group) => group.get('operations').size > 0);
      },
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          selectWebhooksOperations: (original, system) => () => {
            const events = original() ?? {};
            const phrase = system.layoutSelectors.currentFilter();
            if (typeof phrase !== 'string') return events;
            const words = phrase.trim().toLowerCase().split(/\\s+/);
            const text = (path, one) => ['webhooks', path, one.operation?.summary, one.operation?.operationId].join(' ').toLowerCase();
            const left = Object.entries(events).map(([path, items]) => [path, items.filter((one) => words.every((word) => text(path, one).includes(word)))]);
            return Object.fromEntries(left.filter(([, items]) => items.length > 0));
          },
        },
      },
      layout: {
        wrapSelectors: {
          isShown: (original) => (state, thing, otherwise) =>
            original(thing, otherwise || (thing[0] === 'operations-tag' && isFiltered(state))),
        },
      },
    },
    wrapComponents: {
      FilterContainer: (original, { React, layoutActions }) => () =>
        React.createElement('search', { className: 'filter-container' },
          React.createElement('input', {
            className: 'operation-filter-input',
            type: 'search',
            placeholder: 'Filter by name, path or group',
            'aria-label': 'Filter the operations',
            onChange: (event) => layoutActions.updateFilter(event.target.value),
          })),
    },
  };
}`;

/** With the session cookie of `POST /api/v1/login` the console wants the csrf value of that session, of the cookie that only this host sets where there is one. Plain text for browsers. */
export const CONSOLE_INTERCEPTOR = `(request) => {
  const named = (name) => document.cookie.split('; ').find((pair) => pair.startsWith(name + '='))?.slice(name.length + 1);
  const value = named('__Host-csrf_token') ?? named('csrf_token');
  if (value && !/^(GET|HEAD)$/i.test(request.method ?? 'GET')) request.headers['X-CSRF-Token'] = value;
  return request;
}`;
