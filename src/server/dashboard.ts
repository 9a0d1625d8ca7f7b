import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { Hono } from "hono";
import { ownFile } from "../app/own-files.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

function builtDashboard(): string | null {
  const folder = ownFile("dist/web");
  return existsSync(join(folder, "index.html")) ? folder : null;
}

/**
 * Serves the files of the dashboard. Request paths are looked up in the list of its files, never on disk. The page says
 * which kind of server it comes from, so that the dashboard offers and requests nothing that this kind does not have.
 */
export function dashboard(kind: "machine" | "team", find: () => string | null = builtDashboard): Hono {
  let folder: string | null = null;
  let files: ReadonlyMap<string, string> = new Map();
  const fileAt = (path: string): string | undefined => {
    const current = find();
    // The dashboard may be built or rebuilt while the server runs.
    if (current !== folder || !files.has(path)) {
      folder = current;
      files = current === null ? new Map() : filesIn(current);
    }
    return files.get(path);
  };
  return new Hono().get("/*", (c) => {
    const isPage = !c.req.path.includes(".");
    const file = fileAt(isPage ? "/index.html" : c.req.path);
    if (file !== undefined) {
      // Asset names contain a content hash.
      const caching = /-[\w-]{8,}\.\w+$/.test(file) ? "public, max-age=31536000, immutable" : "no-cache";
      const content = readFileSync(file);
      const isHtml = extname(file) === ".html";
      return c.body(isHtml ? content.toString().replace("<html", `<html data-server="${kind}"`) : content, 200, {
        "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
        "Cache-Control": caching,
      });
    }
    if (isPage && folder === null) return c.html(UNBUILT, 503);
    return c.text("Page not found.\n", 404);
  });
}

function filesIn(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [`/${relative(folder, path).split(sep).join("/")}`, path]));
}

const UNBUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>retinue: the dashboard is not built yet</title>
<h1>The dashboard is not built yet</h1>
<p>In the checkout, run <code>npm run build</code>, then reload this page.</p>
<p>The API is available: <a href="/api/threads">/api/threads</a>, <a href="/api/openapi.json">/api/openapi.json</a>.</p>
</html>
`;
