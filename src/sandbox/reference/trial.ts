/** What the form on a page of the reference needs to know of a request, of whatever API. */
import type { Markup } from '../../http/page.ts'

/** By the names of the form. */
export type FormValues = ReadonlyMap<string, string>
type ShownRows = readonly (readonly [name: string, value: string, means: string | undefined])[]

export interface TrialField {
  name: string
  value: string
  means: string
  must?: boolean
  /** The values to choose from, each with its text. */
  options?: readonly (readonly [value: string, text: string])[]
}

export interface TrialRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** How it is signed, or why it is sent unsigned: the refusal names what is missing. */
  signature?: Markup | undefined
  complaint?: string | undefined
  /** The same for a shell. */
  command?: string | undefined
  rows?: ShownRows
}

export interface Posted {
  status: number
  type: string
  body: string
  etag?: string | undefined
}

/** Posts to the loopback; provided by the caller. */
export type Post = (asked: TrialRequest) => Promise<Posted>

export interface Understood {
  kind: string
  isGood: boolean
  note?: Markup | undefined
  rows: ShownRows
  /** Possible next requests, with their addresses. */
  next: readonly (readonly [name: string, href: string])[]
}

export interface Trial {
  /** The page below /docs. */
  slug: string
  /** The form: what was given, else the usual values. */
  fields: (given: FormValues) => readonly TrialField[]
  /** What has to exist first, and how the sandbox makes it. */
  need?: { words: string; isThere: (values: FormValues) => boolean; make: () => Promise<Record<string, string>> } | undefined
  ask: (values: FormValues) => TrialRequest
  understand: (posted: Posted, values: FormValues) => Understood
}

export const valuesOf = (fields: readonly TrialField[]): FormValues => new Map(fields.map(({ name, value }) => [name, value]))
