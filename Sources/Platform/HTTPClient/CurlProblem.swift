// SPDX-License-Identifier: Apache-2.0
import CCurl

/// Room for what libcurl says of one transfer beside its code: which check of a certificate failed, which address
/// refused. The code alone says only that something about TLS was not right.
final class CurlProblem {
  private let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init() { buffer[0] = 0 }

  deinit { buffer.deallocate() }

  /// Has a handle write here; this object must live as long as the handle's transfer.
  func attach(to easy: UnsafeMutableRawPointer) { martlet_curl_set_error_buffer(easy, buffer) }

  /// Why a transfer failed.
  func text(_ code: CURLcode) -> String {
    let meaning = String(cString: curl_easy_strerror(code))
    let detail = String(cString: buffer)
    return detail.isEmpty || detail == meaning ? meaning : "\(meaning): \(detail)"
  }
}
