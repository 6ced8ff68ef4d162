/** Text that is safe in HTML, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
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
