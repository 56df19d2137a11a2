import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface OpenApi {
  openapi: string
  paths: Record<string, Record<string, unknown>>
  components: Record<string, Record<string, unknown>>
}

/** Compiles the schema of OpenAPI once for all documents. */
const validator = new Validator()

/** What the document breaks of OpenAPI, with the place of each; empty when it is valid. */
export async function faultsOf(document: object): Promise<string[]> {
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>)
  if (valid) return []
  if (!Array.isArray(errors)) return [errors ?? 'not valid']
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** What of a value does not fit a schema that stands in the document; empty when it fits. */
export function misfitsBy({ components }: OpenApi): (value: unknown, schema: object) => string[] {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, code: { optimize: false } })
  ajv.addVocabulary(['components'])
  const compiled = new Map<object, ValidateFunction>()
  const compile = (schema: object) => {
    // To go through all components for a schema that names none takes most of the time.
    const validate = ajv.compile(JSON.stringify(schema).includes('"$ref"') ? { ...schema, components } : { ...schema })
    compiled.set(schema, validate)
    return validate
  }
  return (value, schema) => {
    const validate = compiled.get(schema) ?? compile(schema)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

/** Follows `#/a/b` in a document. */
export const finder =
  (document: unknown) =>
  (ref: string): unknown =>
    ref
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((inside, key) => (inside as Record<string, unknown> | undefined)?.[key], document)
