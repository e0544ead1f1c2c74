/**
 * Finds exports of the library without a use, as one function over a map of files. It reads the syntax tree, so
 * comments and strings don't count.
 */
import { posix } from 'node:path'
import ts from 'typescript-tap'

/** Path with forward slashes, to source text. */
export type FileMap = Readonly<Record<string, string>>

/**
 * `path: name` of each export of a file in `lib/`, except those of a door, that no other file imports. An export that
 * only tests import must have a use in its own file. A module that is imported as a whole counts as all its exports.
 */
export function deadExports(files: FileMap, doors: readonly string[]): string[] {
  const used = new Set<string>()
  const tested = new Set<string>()
  const exported: Array<[path: string, name: string]> = []
  /** Counts each occurrence. */
  const names = new Map<string, string[]>()
  for (const [path, text] of Object.entries(files)) {
    const use = (specifier: ts.Node | undefined, names: readonly string[]): void => {
      if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return
      for (const name of names)
        (path.startsWith('test/') ? tested : used).add(`${posix.join(posix.dirname(path), specifier.text)}: ${name}`)
    }
    const here: string[] = []
    names.set(path, here)
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node)) here.push(node.text)
      if (ts.isImportDeclaration(node)) use(node.moduleSpecifier, imported(node))
      else if (ts.isExportDeclaration(node)) {
        const names =
          node.exportClause !== undefined && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : null
        use(node.moduleSpecifier, names?.map(({ name, propertyName }) => (propertyName ?? name).text) ?? ['*'])
        for (const { name } of names ?? []) exported.push([path, name.text])
      } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
        use(node.arguments[0], ['*'])
      else if (ts.isImportTypeNode(node))
        use(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, [
          node.qualifier?.getText(file) ?? '*'
        ])
      else if (
        ts.canHaveModifiers(node) &&
        ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
      )
        exported.push(...declared(node).map((name): [string, string] => [path, name]))
      ts.forEachChild(node, visit)
    }
    const file = ts.createSourceFile(
      path,
      text,
      ts.ScriptTarget.Latest,
      true,
      path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
    )
    visit(file)
  }
  const isIn = (set: ReadonlySet<string>, path: string, name: string): boolean =>
    set.has(`${path}: ${name}`) || set.has(`${path}: *`)
  const isAlive = (path: string, name: string): boolean =>
    isIn(used, path, name) ||
    (isIn(tested, path, name) && (names.get(path) ?? []).filter((one) => one === name).length > 1)
  return exported
    .filter(([path, name]) => path.startsWith('lib/') && !doors.includes(path) && !isAlive(path, name))
    .map(([path, name]) => `${path}: ${name}`)
}

function imported({ importClause }: ts.ImportDeclaration): string[] {
  const { namedBindings } = importClause ?? {}
  if (namedBindings === undefined) return importClause?.name === undefined ? [] : ['default']
  return ts.isNamedImports(namedBindings)
    ? namedBindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
    : ['*']
}

function declared(node: ts.Node): string[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText())
  return [(node as ts.DeclarationStatement).name?.getText() ?? 'default']
}
