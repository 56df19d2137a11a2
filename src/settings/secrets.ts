/** Secrets in the environment, and in files that it names. */
import { readFileSync, statSync } from 'node:fs'
import { secret, type Secret } from '../base/secret.ts'
import { isInMemory } from '../keys/hour-key-files.ts'
import { complaining, type Environment } from './variables.ts'

/**
 * The secret of a variable, or of the file that the same variable with `_FILE` names: other
 * programs of the same user can read an environment. Undefined if neither is set.
 */
export function secretOf(env: Environment, name: string, complaints: string[]): Secret<string> | undefined {
  const fileName = `${name}_FILE`
  const { [name]: text, [fileName]: file } = env
  if (text && file) complaints.push(`${name} and ${fileName} are both set; keep one, best ${fileName}`)
  else if (file) return secretIn(fileName, file, complaints)
  else if (text) return secret(text)
  return undefined
}

/** The secret in the file that a variable names. */
export function secretIn(name: string, file: string, complaints: string[]): Secret<string> | undefined {
  const read = () => {
    refuseOpen(name, file, complaints)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw new Error(`${file} is empty`)
    return secret(text)
  }
  return complaining(complaints, read, `${name}: `)
}

/**
 * Complains if other users of the machine can read or change the file. A secret that a container
 * platform or systemd mounts belongs to root, lies on a memory file system, and may be open to the
 * user of the program, whom the platform does not know. No other user can see that file system.
 */
export function refuseOpen(name: string, path: string, complaints: string[]): void {
  const { mode, uid } = statSync(path)
  const isMounted = uid === 0 && (mode & 0o022) === 0 && isInMemory(path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0 && !isMounted)
    complaints.push(`${name}: other users can read ${path}, which holds a secret: chmod 600 ${path}`)
}
