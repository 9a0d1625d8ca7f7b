import { createEffect, createSignal, onCleanup, Show } from "solid-js";
import { plural } from "../data/format.ts";
import { cutAt, visible } from "../data/text.ts";
import { showToast } from "../state/toast.ts";

/** Longer texts are shown unformatted and in parts, so that rendering does not block the page. */
const MARKDOWN_CHARS = 16_000;
const PIECE_CHARS = 20_000;
const HIGHLIGHTED_CHARS = 20_000;

interface TextProps {
  readonly text: string;
  /** Length of the full text, if this is only its beginning. */
  readonly full?: number | null;
  readonly markdown?: boolean;
  /** The language for highlighting. */
  readonly language?: string;
  readonly more?: () => Promise<string>;
}

/** A text of a transcript or a tool, as Markdown or plain, with a button for more of a long one. */
export function Text(props: TextProps) {
  const [full, setFull] = createSignal<string | null>(null);
  const [shown, setShown] = createSignal(PIECE_CHARS);
  const [busy, setBusy] = createSignal(false);
  const text = () => full() ?? props.text;
  const total = () => (full() === null ? Math.max(props.full ?? 0, props.text.length) : text().length);
  const piece = () => visible(cutAt(text(), shown()));
  const left = () => total() - Math.min(shown(), text().length);
  const showMore = async () => {
    if (full() === null && props.more !== undefined && (props.full ?? 0) > props.text.length) {
      setBusy(true);
      try {
        setFull(await props.more());
      } catch (error) {
        return showToast((error as Error).message, { isError: true });
      } finally {
        setBusy(false);
      }
    }
    setShown((n) => n + PIECE_CHARS);
  };
  return (
    <div class="text">
      <Show
        when={props.markdown === true && total() <= MARKDOWN_CHARS}
        fallback={<Plain text={piece()} language={props.language} />}
      >
        <Markdown text={piece()} />
      </Show>
      <Show when={left() > 0}>
        <button type="button" class="quiet more" disabled={busy()} onClick={() => void showMore()}>
          {busy() ? "Loading …" : `Show more: ${plural(left(), "character")} left`}
        </button>
      </Show>
    </div>
  );
}

function Plain(props: { text: string; language: string | undefined }) {
  return (
    <pre class="plain" dir="auto">
      <code
        ref={(element) =>
          createEffect(() => {
            element.textContent = props.text;
            if (props.language !== undefined) void highlightCode(element, props.language);
          })
        }
      />
    </pre>
  );
}

function Markdown(props: { text: string }) {
  return (
    <div
      class="markdown"
      dir="auto"
      ref={(element) =>
        createEffect(() => {
          const { text } = props;
          // The text may change or be removed before the renderer is loaded.
          let isCurrent = true;
          onCleanup(() => {
            isCurrent = false;
          });
          // Plain text until the renderer is loaded.
          if (element.childNodes.length === 0) element.textContent = text;
          void import("./markdown.ts").then(({ markdownNodes }) => {
            if (!isCurrent) return;
            const nodes = markdownNodes(text);
            // Nested too deeply; stays plain text.
            if (nodes === null) return;
            element.replaceChildren(nodes);
            element.classList.add("rendered");
            for (const code of element.querySelectorAll<HTMLElement>("pre > code[class^='language-']"))
              void highlightCode(code, code.className.slice("language-".length).split(" ")[0] ?? "");
          });
        })
      }
    />
  );
}

/** Highlights a code block, unless it is too long. */
async function highlightCode(element: HTMLElement, language: string): Promise<void> {
  const length = element.textContent?.length ?? 0;
  if (language === "" || length === 0 || length > HIGHLIGHTED_CHARS) return;
  const { highlight } = await import("./highlight.ts");
  highlight(element, language);
}
