import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript-tap'

/** A regular expression of the source, and its position. */
export interface Expression {
  source: string
  flags: string
  at: string
}

/** Replaces a part of the text that is known only at run time. */
const UNKNOWN_PART = 'name'

/** Every regular expression below this directory: literals, and those built from a text. */
export function expressionsBelow(directory: URL): Expression[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.(?:[cm]?[jt]s|tsx)$/.test(name) && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
    .sort()
    .flatMap((name) => expressionsOf(name, readFileSync(new URL(name, directory), 'utf8')))
}

/** @throws Error on an expression whose text can't be told from the file */
export function expressionsOf(name: string, text: string): Expression[] {
  const file = ts.createSourceFile(
    name,
    text,
    ts.ScriptTarget.Latest,
    true,
    name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  )
  const constants = new Map<string, string>()
  const found: Expression[] = []
  const visit = (node: ts.Node): void => {
    const at = `${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (
      ts.isVariableDeclaration(node) &&
      ts.isIdentifier(node.name) &&
      node.initializer !== undefined &&
      ts.isStringLiteralLike(node.initializer)
    )
      constants.set(node.name.text, node.initializer.text)
    if (ts.isRegularExpressionLiteral(node)) found.push({ ...partsOf(node.text), at })
    if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      ts.isIdentifier(node.expression) &&
      node.expression.text === 'RegExp'
    ) {
      const [source, flags] = node.arguments ?? []
      found.push({
        source: textOf(source, constants, at),
        flags: flags === undefined ? '' : textOf(flags, constants, at),
        at
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function partsOf(literal: string): { source: string; flags: string } {
  const end = literal.lastIndexOf('/')
  return { source: literal.slice(1, end), flags: literal.slice(end + 1) }
}

function textOf(node: ts.Expression | undefined, constants: ReadonlyMap<string, string>, at: string): string {
  if (node !== undefined && ts.isStringLiteralLike(node)) return node.text
  if (node !== undefined && ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return textOf(node.left, constants, at) + textOf(node.right, constants, at)
  if (node === undefined || !ts.isTemplateExpression(node))
    throw new Error(`${at}: an expression that is no template can't be checked`)
  return (
    node.head.text +
    node.templateSpans
      .map(({ expression, literal }) => (constants.get(expression.getText()) ?? UNKNOWN_PART) + literal.text)
      .join('')
  )
}
