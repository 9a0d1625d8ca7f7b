import type { Gate } from "../../../core/ports/gate.ts";
import { asList, asNonBlank, asObject, parseJson } from "../../../core/tools/json.ts";

/**
 * A plugin whose `tool.execute.before` is called for all sessions of the process (1.18.33). An error that it throws is
 * the result of the call. `variable` begins the names of the product's settings.
 */
export const gateOf = (variable: string): Gate => ({
  open(command, env, at) {
    // Plugins are not loaded then.
    if (env[`${variable}_PURE`]) return null;
    const name = `${variable}_CONFIG_CONTENT`;
    const config = asObject(parseJson(env[name] ?? "{}")?.value);
    if (config === null) return null;
    const path = at.fileAt("plugin.mjs");
    const plugins = [...asList(config.plugin), `file://${path}`];
    return {
      command,
      env: { [name]: JSON.stringify({ ...config, plugin: plugins }) },
      files: [{ path, text: pluginFor(at.url, at.token, at.timeout) }],
    };
  },
  callIn(question) {
    const json = asObject(question);
    const [tool, callId] = [asNonBlank(json?.tool), asNonBlank(json?.callID)];
    if (json === null || tool === null || callId === null) return null;
    return {
      callId,
      tool,
      input: asObject(json.args) ?? {},
      isSpawn: tool === "task",
      sessionId: asNonBlank(json.sessionID) ?? "",
      agentId: null,
      agentType: null,
      cwd: null,
    };
  },
  answer: (decision) => (decision === "allow" ? {} : decision),
});

/** If the question is not answered, the call runs. */
const pluginFor = (url: string, token: string, timeout: number) => `export const Retinue = async () => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const answer = await fetch(${JSON.stringify(url)}, {
      method: "POST",
      headers: { authorization: ${JSON.stringify(`Bearer ${token}`)}, "content-type": "application/json" },
      body: JSON.stringify({ tool, sessionID, callID, args: output.args }),
      signal: AbortSignal.timeout(${timeout * 1000}),
    })
      .then((response) => (response.ok ? response.json() : {}))
      .catch(() => ({}));
    if (typeof answer.deny === "string") throw new Error(answer.deny);
    if (answer.input) Object.assign(output.args, answer.input);
  },
});
`;
