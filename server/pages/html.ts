/** Text that is safe in HTML, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

// Embeddings, overrides and isolates, and what has no width. Direction marks and joiners stay: Arabic, Hebrew, Persian and emoji are written with them.
const UNSEEN = /[\u00AD\u180E\u200B\u202A-\u202E\u2060-\u206F\uFEFF]/g;

/** Text of a merchant without marks that reorder it or are not seen, so that it says what it looks like. */
export function plainSight(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Text of a merchant in HTML, isolated: it is read in its own direction, and nothing beside it is moved. */
export function merchantHtml(text: string): string {
  return `<bdi>${escapeHtml(plainSight(text))}</bdi>`;
}

/** A sentence in HTML; what stands between backticks is code. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** The address when it is one that a browser may be sent to (http or https), else undefined. */
export function webAddress(text: string | null | undefined): URL | undefined {
  const url = text ? URL.parse(text) : null;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}
