import "./styles/base.css";
import "./styles/shell.css";
import "./styles/table.css";
import "./styles/agent.css";
import { render } from "solid-js/web";
import { App } from "./app.tsx";
import { listenToKeys } from "./state/keys.ts";
import { connect } from "./state/server.ts";
import { applyTheme } from "./state/theme.ts";

applyTheme();
listenToKeys();
connect();
const root = document.getElementById("app");
if (root !== null) render(() => <App />, root);
