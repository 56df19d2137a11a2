/** A value that does not fit its field; `must` continues "it must be". */
export interface UnfitValue {
  what: 'unfit'
  field: string
  must: string
}

export const unfit = (field: string, must: string): UnfitValue => ({ what: 'unfit', field, must })
