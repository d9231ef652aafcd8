// SPDX-License-Identifier: Apache-2.0

internal import CSimdjson
internal import Contract

extension RequestReader {
  /// Checks the fields carried beside the payload.
  func checkCarried(_ request: inout PushRequest) throws(RequestError) {
    request.isCarrying = true
    request.raw = raw
    guard takesCampaigns || !has(.campaign) else { throw RequestError(.campaign, .notOfScheduler) }
    var bytes = request.escapedID.count
    for row in CarriedField.texts {
      guard let field = row.request, has(field) else { continue }
      switch row.rule {
      case .text(let most):
        try RequestRules.checkText(text(field).span, field, most: most)
      case .header(let most):
        try RequestRules.checkHeaderText(text(field).span, field, most: most)
      default: continue
      }
      bytes += text(field).count
    }
    if has(.headers) { bytes += try checkHeaders(&request) }
    if has(.data) { bytes += try checkData(&request) }
    // An id alone has its own limit.
    guard bytes > request.escapedID.count else { return }
    try RequestRules.checkCarried(bytes: bytes)
  }

  /// - Returns: their size in bytes.
  private func checkHeaders(_ request: inout PushRequest) throws(RequestError) -> Int {
    let headers = RequestMembers(raw.pointee.headers)
    try RequestRules.checkHeaders(count: headers.entries.count, bytes: headers.bytes)
    for entry in headers.entries {
      let name = UnsafeBufferPointer(start: entry.name.bytes, count: entry.name.count)
      let value = UnsafeBufferPointer(start: entry.value.bytes, count: entry.value.count)
      try RequestRules.checkHeader(name.span, value.span)
    }
    try checkOnce(headers, .headers)
    request.headers = headers
    return headers.bytes
  }

  /// - Returns: their size in bytes.
  private func checkData(_ request: inout PushRequest) throws(RequestError) -> Int {
    let data = RequestMembers(raw.pointee.data)
    try RequestRules.checkData(bytes: data.objectBytes)
    try checkOnce(data, .data)
    request.data = data
    return data.objectBytes
  }

  private func checkOnce(_ members: RequestMembers, _ field: RequestField) throws(RequestError) {
    guard let name = members.duplicate else { return }
    throw RequestError(field, .member(Self.shown(name), .duplicate))
  }

  /// The beginning of a text, for an error message.
  static func shown(_ text: UnsafeRawBufferPointer) -> String {
    String(decoding: text.prefix(shownBytes), as: UTF8.self)
  }
}
