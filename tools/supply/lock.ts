// package-lock.json as npm writes it (lockfileVersion 3): one entry for each folder below
// node_modules.

export interface LockEntry {
  version: string
  license?: string
  integrity?: string
  /** Only development needs it. */
  dev?: boolean
  optional?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

export interface LockFile {
  name: string
  version: string
  packages: Record<string, LockEntry>
}

export interface InstalledPackage {
  /** The folder, from the root of the project; empty for the project itself. */
  path: string
  name: string
  entry: LockEntry
}

/** The project first, then the packages by folder. */
export function packagesOf(lock: LockFile): InstalledPackage[] {
  return Object.entries(lock.packages).map(([path, entry]) => ({
    path,
    name: path === '' ? lock.name : path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    entry,
  }))
}

/**
 * The folder in which Node finds `name` for the package in `path`: its own node_modules, then that
 * of each folder around it. Undefined for an optional package that is not in the lock file.
 */
export function resolveFrom(path: string, name: string, lock: LockFile): string | undefined {
  for (let around = path; ; around = around.slice(0, Math.max(0, around.lastIndexOf('/node_modules/')))) {
    const folder = around === '' ? `node_modules/${name}` : `${around}/node_modules/${name}`
    if (Object.hasOwn(lock.packages, folder)) return folder
    if (around === '') return undefined
  }
}
