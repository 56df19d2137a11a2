import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a small file. After a loss of power it has the old or the new content, never half. */
export async function writeDurably(
  path: string,
  text: string,
  mode: number,
  owner?: { uid: number; gid: number },
): Promise<void> {
  const file = await open(`${path}.new`, 'w', mode)
  try {
    await file.chmod(mode)
    if (owner) await file.chown(owner.uid, owner.gid)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  await syncDirectory(dirname(path))
}

/** Makes a rename in this directory survive a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
