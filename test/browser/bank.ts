import type { FrameLocator, Page } from 'playwright-core'

/** The issuer's page: in the frame of the gateway's, or in the whole window. */
export type Bank = FrameLocator | Page

export const atBank = (page: Page): FrameLocator => page.frameLocator('iframe[title^="Your bank"]')

/** Presses a button by key: while a frame is laid out, a browser may send a click past it. */
export const pressAt = (bank: Bank, name: string | RegExp): Promise<void> =>
  bank.getByRole('button', { name }).dispatchEvent('click')

const mostTries = 20

/** Types a one-time password, again if it was lost when the page around took the focus. */
export async function typeIn(bank: Bank, password: string): Promise<void> {
  const field = bank.getByLabel('One-time password')
  for (let tries = 0; tries < mostTries; tries++) {
    await field.fill(password)
    if ((await field.inputValue()) === password) return
  }
  throw new Error('the password does not stay in its field')
}

/** Types a one-time password, and sends it. */
export async function say(bank: Bank, password: string): Promise<void> {
  await typeIn(bank, password)
  await pressAt(bank, 'Confirm')
}

/** Notes the CReqs that a page sends from now on; the answer gives them, in order. */
export function creqsOf(page: Page): () => string[] {
  const sent: string[] = []
  page.on('request', (request) => {
    const creq = new URLSearchParams(request.postData() ?? '').get('creq')
    if (creq !== null) sent.push(creq)
  })
  return () => [...sent]
}
