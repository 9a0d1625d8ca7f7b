import "./styles/base.css";
import "./styles/shell.css";
import "./styles/table.css";
import "./styles/agent.css";
import { render } from "solid-js/web";
import { App } from "./app.tsx";
import { listenToKeys } from "./state/keys.ts";
import { goLive } from "./state/server.ts";
import { applyTheme } from "./state/theme.ts";

applyTheme();
listenToKeys();
goLive();
const place = document.getElementById("app");
if (place !== null) render(() => <App />, place);
