import { resolve } from 'node:path'
import ts from 'typescript-tap'

/**
 * The types that the declarations of an entry point name, directly or through other types, but that neither the entry
 * nor one of `others` exports. A host cannot name the type of such a value. `opaque`: types that a host need not name.
 * Bodies of functions are ignored.
 */
export function unexportedTypes(
  entry: string,
  root: string,
  { others = [], opaque = [] }: { others?: string[]; opaque?: string[] } = {}
): string[] {
  const program = ts.createProgram([entry, ...others], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node']
  })
  const checker = program.getTypeChecker()
  const moduleOf = (file: string): ts.Symbol =>
    checker.getSymbolAtLocation(program.getSourceFile(resolve(file)) as ts.SourceFile) as ts.Symbol
  const real = (symbol: ts.Symbol): ts.Symbol =>
    (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
  const exported = new Set([entry, ...others].flatMap((file) => checker.getExportsOfModule(moduleOf(file)).map(real)))
  const missing = new Map<ts.Symbol, string>()
  const seen = new Set<ts.Symbol>()

  function visit(symbol: ts.Symbol, from: string): void {
    if (seen.has(symbol) || opaque.includes(symbol.name)) return
    seen.add(symbol)
    const ours = (symbol.declarations ?? []).filter(
      (one) => one.getSourceFile().fileName.startsWith(root) && !ts.isTypeParameterDeclaration(one)
    )
    // A symbol that is declared elsewhere too is another package's, with additions of ours.
    if (ours.length === 0 || ours.length < (symbol.declarations ?? []).length) return
    const isType =
      (symbol.flags &
        (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class | ts.SymbolFlags.Enum)) !==
      0
    if (isType && !exported.has(symbol)) missing.set(symbol, from)
    for (const declaration of ours) walk(declaration, symbol.name)
  }

  function walk(node: ts.Node, from: string): void {
    if (ts.isBlock(node) || ts.isModuleBlock(node)) return
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : ts.isTypeQueryNode(node)
          ? node.exprName
          : undefined
    const symbol = name === undefined ? undefined : checker.getSymbolAtLocation(name)
    if (symbol !== undefined) visit(real(symbol), from)
    // The declared type of a value, not its initializer.
    if (ts.isVariableDeclaration(node)) {
      if (node.type !== undefined) walk(node.type, from)
      return
    }
    ts.forEachChild(node, (child) => {
      walk(child, from)
    })
  }

  for (const symbol of exported) visit(symbol, 'the entry point')
  return [...missing].map(([symbol, from]) => `${symbol.name} of ${from}`).toSorted((a, b) => a.localeCompare(b))
}
