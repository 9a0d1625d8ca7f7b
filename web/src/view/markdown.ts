/** Loaded when the first message is shown. Transcripts are hostile: HTML in them is text, images are words, links lead only to the web. */
import createPurifier from "dompurify";
import { Marked, type RendererObject } from "marked";

const escaped = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const renderer: RendererObject = {
  html: ({ raw }) => escaped(raw),
  // An image is a request to somebody's server: whoever wants to see it can open the address.
  image: ({ href, text }) => `<span class="image">[image${text === "" ? "" : `: ${escaped(text)}`} · ${escaped(href)}]</span>`,
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

const TAGS = [..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong sub sup table tbody td th thead tr ul".split(" ")];

/** Clean nodes for a text in Markdown; null where it is nested too deeply to be read. */
export function markdownNodes(text: string): DocumentFragment | null {
  let html: string;
  try {
    html = marked.parse(text) as string;
  } catch {
    // The parser calls itself for every level: some texts are nothing but levels.
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
