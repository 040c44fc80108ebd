// SPDX-License-Identifier: Apache-2.0
// Which part of a line is what: comments, strings, registers, opcodes. By patterns, a line at a time.
const PYTHON = /(#.*)|([rbfu]*"""[^]*?(?:"""|$)|[rbfu]*"(?:[^"\\]|\\.)*"|[rbfu]*'(?:[^'\\]|\\.)*')|(\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|False|try|while|with|yield|match|case)\b|@[\w.]+)|(\b(?:0x[\da-fA-F_]+|\d[\d_.]*(?:e[+-]?\d+)?)\b)/g;
const CPP = /(\/\/.*|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\b(?:auto|bool|break|case|char|class|const|constexpr|continue|default|do|double|else|enum|extern|float|for|if|inline|int|long|namespace|return|short|sizeof|static|struct|switch|template|this|typename|unsigned|using|void|while|__\w+)\b|^\s*#\w+)|(\b(?:0x[\da-fA-F']+|\d[\d'.]*(?:e[+-]?\d+)?[uUlLfF]*)\b)/g;
const PTX = /(\/\/.*|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*")|(^\s*(?:@!?%?\w+\s+)?)([a-z][\w]*(?:\.[\w:]+)*)|(\.[a-z_]\w*)|(%[\w.]+)|(\b0[xfFdD][\da-fA-F]+\b|\b\d+\b)/g;
const SASS = /(^@!?U?P\w+\s+)|(^[A-Z][\w.]*|(?<=^@!?U?P\w+\s)[A-Z][\w.]*)|(\b(?:UR|UP|R|P|B|SR_)[\w.]*)|(\b0x[\da-f]+\b|\b\d[\d.e+-]*\b)/g;

/** [class, text] of the parts of a line. */
function parts(text, pattern, classes) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) found.push(["", text.slice(at, match.index)]);
    for (let group = 1; group < match.length; group++) {
      if (match[group]) found.push([classes[group - 1], match[group]]);
    }
    at = match.index + match[0].length;
    if (!match[0]) break;
  }
  if (at < text.length) found.push(["", text.slice(at)]);
  return found;
}

function coloured(kind, text) {
  if (text.length > 4000) return [["", text]];
  if (kind === "ptx") return parts(text, PTX, ["c", "s", "d", "o", "k", "r", "n"]);
  if (kind === "sass") return parts(text, SASS, ["d", "o", "r", "n"]);
  if (kind === "string") return [["s", text]];
  return parts(text, kind === "cpp" ? CPP : PYTHON, ["c", "s", "k", "n"]);
}

/** Of each source row: python, cpp, or string inside a Python text of several lines. */
function sourceKinds(lines, numbers) {
  let kind = "python", quote = "";
  return lines.map((text, row) => {
    if (!numbers[row]) {
      if (text !== "⋯") [kind, quote] = [/\.py$|^<|ipython/.test(text) ? "python" : "cpp", ""];
      return kind;
    }
    if (kind === "cpp") return kind;
    const before = quote, bare = text.replace(/#(?![^"']*["']).*$/, "");
    for (const mark of bare.match(/"""|'''/g) ?? []) quote = quote ? (mark === quote ? "" : quote) : mark;
    return before ? "string" : "python";
  });
}

function code(kind, text) {
  const cell = document.createElement("span");
  cell.className = "code";
  for (const [name, part] of coloured(kind, text)) {
    if (!name) { cell.append(part); continue; }
    const piece = document.createElement("span");
    piece.className = name;
    piece.textContent = part;
    cell.append(piece);
  }
  return cell;
}
