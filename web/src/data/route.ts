/** The pages. Routes are in the fragment of the URL, so that any web server can serve the dashboard. */
export type Page =
  | "threads"
  | "tree"
  | "waterfall"
  | "graph"
  | "agent"
  | "log"
  | "explain"
  | "files"
  | "requests"
  | "stats"
  | "health"
  | "compare"
  | "board"
  | "card"
  | "now"
  | "costs"
  | "failures"
  | "people"
  | "audit";

export interface Route {
  readonly page: Page;
  /** The thread, agent or card shown. */
  readonly uri: string | null;
  readonly params: Readonly<Record<string, string>>;
}

const WITH_URI: readonly Page[] = [
  "tree",
  "waterfall",
  "graph",
  "agent",
  "log",
  "explain",
  "files",
  "requests",
  "card",
];

const WITHOUT_URI: readonly Page[] = [
  "health",
  "stats",
  "board",
  "compare",
  "now",
  "costs",
  "failures",
  "people",
  "audit",
];

/** Pages that a team server does not have. */
const OF_A_MACHINE: readonly Page[] = ["board", "card", "compare", "health", "requests"];
const OF_A_TEAM: readonly Page[] = ["now", "costs", "failures", "people", "audit"];

/** Whether this kind of server has the page. The address may be that of a page on another server. */
export const hasPage = (isTeam: boolean, page: Page) => !(isTeam ? OF_A_MACHINE : OF_A_TEAM).includes(page);

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#?\/?/, ""), "?");
  const [page = "", rest = ""] = splitOnce(path, "/");
  const params = Object.fromEntries(new URLSearchParams(query));
  const alone = WITHOUT_URI.find((name) => name === page);
  if (alone !== undefined) return { page: alone, uri: null, params };
  const uri = decoded(rest);
  const known = WITH_URI.find((name) => name === page);
  return known === undefined || uri === "" ? { page: "threads", uri: null, params } : { page: known, uri, params };
}

export function formatRoute({
  page,
  uri,
  params,
}: {
  page: Page;
  uri?: string | null;
  params?: Readonly<Record<string, string | null | undefined>>;
}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {}))
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  const place = page === "threads" ? "" : uri == null ? page : `${page}/${readable(uri)}`;
  return `#/${place}${query.size === 0 ? "" : `?${query}`}`;
}

/**
 * The owner parameter of a link. Links between lists and links within a thread keep it; a link from a thread to a list
 * drops it, so that the list shows the threads of all owners.
 */
export function linkOwner({ page, params }: Route, to: Page): string | null {
  return WITH_URI.includes(page) && !WITH_URI.includes(to) ? null : (params.owner ?? null);
}

/** Whether a text has the form of a URI, `<provider>://…`. */
export const isUri = (text: string) => /^[a-z]+:\/\/\S+$/.test(text);

/** The URI of an agent's thread. */
export function threadOf(uri: string): string {
  const [scheme = "", rest = ""] = splitOnce(uri, "://");
  return `${scheme}://${splitOnce(rest, "/")[0]}`;
}

/** The URI as it is printed elsewhere; only characters that are special in a URL are escaped. */
const readable = (uri: string) => encodeURI(uri).replace(/[?#]/g, (char) => (char === "?" ? "%3F" : "%23"));

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded, such as a pasted URI with a percent sign.
    return text;
  }
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + at.length)];
}
