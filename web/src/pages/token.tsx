import { createSignal, Show } from "solid-js";
import { api } from "../state/server.ts";

/** Asks for a token of a team server. The server exchanges it for a cookie that no script can read. */
export function TokenEntry() {
  const [token, setToken] = createSignal("");
  const [wrong, setWrong] = createSignal("");
  const [isSending, setSending] = createSignal(false);
  const enter = async () => {
    setSending(true);
    setWrong("");
    try {
      await api.openSession(token().trim());
      location.reload();
    } catch (error) {
      setWrong((error as Error).message);
      setSending(false);
    }
  };
  return (
    <div class="nothing first token-entry" data-testid="token-entry">
      <p class="big">This is a team server.</p>
      <p class="muted">
        Enter a token with the scope read. An administrator creates it with <code>retinue token create</code>.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <input
          type="password"
          name="token"
          aria-label="Token"
          placeholder="rtn_…"
          size="30"
          autocomplete="off"
          autofocus
          onInput={(event) => setToken(event.currentTarget.value)}
        />{" "}
        <button type="submit" class="primary" disabled={isSending() || token().trim() === ""}>
          Open
        </button>
      </form>
      <Show when={wrong()}>
        <p class="bad" role="alert">
          {wrong()}
        </p>
      </Show>
    </div>
  );
}
