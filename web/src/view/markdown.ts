/**
 * Loaded when the first message is shown. Transcripts are untrusted: HTML is shown as text, images as their address,
 * and links lead only to the web.
 */
import createPurifier from "dompurify";
import { Marked, type RendererObject } from "marked";

const escaped = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const renderer: RendererObject = {
  html: ({ raw }) => escaped(raw),
  // Loading an image would send a request to another host.
  image: ({ href, text }) =>
    `<span class="image">[image${text === "" ? "" : `: ${escaped(text)}`} · ${escaped(href)}]</span>`,
  checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
};

const marked = new Marked({ gfm: true, breaks: true, async: false, renderer });
const purifier = createPurifier(window);

const WEB = /^(?:https?|mailto):/i;
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  const href = node.getAttribute("href") ?? "";
  if (!WEB.test(href)) node.removeAttribute("href");
  else {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
    node.setAttribute("title", href);
  }
});

const TAGS = [
  ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong sub sup table tbody td th thead tr ul".split(
    " ",
  ),
];

/** Sanitised nodes for a Markdown text; null if it is nested too deeply. */
export function markdownNodes(text: string): DocumentFragment | null {
  let html: string;
  try {
    html = marked.parse(text) as string;
  } catch {
    // The parser is recursive and may overflow the stack.
    return null;
  }
  return purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "class", "align", "start"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}
