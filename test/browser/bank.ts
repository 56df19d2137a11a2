import type { FrameLocator, Page } from 'playwright-core'

/** The issuer's page: in the frame of the gateway's, or in the whole window. */
export type Bank = FrameLocator | Page

export const atBank = (page: Page): FrameLocator => page.frameLocator('iframe[title^="Your bank"]')

/** Types a one-time password, and sends it. The button is pressed without the pointer: while the frame of another site is still laid out, a browser may send a click past it. */
export async function say(bank: Bank, password: string): Promise<void> {
  await bank.getByLabel('One-time password').fill(password)
  await bank.getByRole('button', { name: 'Confirm' }).dispatchEvent('click')
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
