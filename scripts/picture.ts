import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Draws the terminal output for the example session into docs/tree.svg. */
const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "retinue-picture-"));
const command = ["tree", "latest"];
const shown = execFileSync(process.execPath, [join(root, "src", "cli", "main.ts"), ...command], {
  encoding: "utf8",
  env: {
    ...process.env,
    CLAUDE_CONFIG_DIR: join(root, "examples", "claude"),
    RETINUE_HOME: scratch,
    RETINUE_CONFIG: join(scratch, "none"),
    FORCE_COLOR: "1",
    COLUMNS: "136",
  },
});
rmSync(scratch, { recursive: true });

const [CELL, LINE, PAD] = [8.4, 20, 20];
const COLORS: Readonly<Record<string, string>> = {
  "31": "#ff7b72",
  "32": "#7ee787",
  "33": "#e3b341",
  "35": "#d2a8ff",
  "36": "#79c0ff",
};
const escapeXml = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** One `<tspan>` per colour, placed by column, so that the alignment does not depend on the font. */
function drawLine(line: string, y: number): string {
  let style = "";
  let column = 0;
  const spans: string[] = [];
  for (const part of line.split(/(\u001b\[[0-9;]*m)/)) {
    const codes = /^\u001b\[([0-9;]*)m$/.exec(part)?.[1]?.split(";");
    if (codes !== undefined) {
      for (const code of codes)
        style =
          code === "1"
            ? "font-weight:bold"
            : code === "2"
              ? "opacity:.6"
              : COLORS[code] === undefined
                ? ""
                : `fill:${COLORS[code]}`;
      continue;
    }
    for (const [, text = "", gap = ""] of part.matchAll(/(\S+(?: \S+)*)?( *)/g)) {
      if (text !== "")
        spans.push(
          `<tspan x="${PAD + column * CELL}"${style === "" ? "" : ` style="${style}"`}>${escapeXml(text)}</tspan>`,
        );
      column += text.length + gap.length;
    }
  }
  return `<text y="${y}">${spans.join("")}</text>`;
}

const lines = [`$ retinue ${command.join(" ")}`, ...shown.trimEnd().split("\n")];
const plain = lines.map((line) => line.replace(/\u001b\[[0-9;]*m/g, ""));
const width = Math.ceil(PAD * 2 + CELL * Math.max(...plain.map((line) => line.length)));
const height = PAD * 2 + LINE * lines.length;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="retinue tree: a session and its seven agents">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3" xml:space="preserve">
${lines.map((line, i) => drawLine(line, PAD + LINE * (i + 0.7))).join("\n")}
</g>
</svg>
`;
writeFileSync(join(root, "docs", "tree.svg"), svg);
