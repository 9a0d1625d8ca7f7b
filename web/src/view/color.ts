/** A colour of its own for every agent, the same on every page and every day. The lightness comes from the style sheet. */
export function hueOf(uri: string): number {
  let hash = 2166136261;
  for (let at = 0; at < uri.length; at += 1) hash = Math.imul(hash ^ uri.charCodeAt(at), 16777619);
  // Golden steps keep neighbours apart.
  return Math.round(((hash >>> 0) * 137.508) % 360);
}
