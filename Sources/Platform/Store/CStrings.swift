// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Calls `body` with these texts as C strings, nil as a null pointer, and a null pointer at their end.
func withCStrings<R, Failure: Error>(
  _ texts: [String?], _ body: (UnsafePointer<UnsafePointer<CChar>?>) throws(Failure) -> R
) throws(Failure) -> R {
  let pointers = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: texts.count + 1)
  for (index, text) in texts.enumerated() {
    (pointers + index).initialize(to: text.flatMap { UnsafePointer(strdup($0)) })
  }
  (pointers + texts.count).initialize(to: nil)
  defer {
    for index in texts.indices { free(UnsafeMutablePointer(mutating: pointers[index])) }
    pointers.deallocate()
  }
  return try body(pointers)
}
