// SPDX-License-Identifier: Apache-2.0
import CCurl

/// Trusts the authorities of a PEM file and no other. libcurl would go on to trust the system's folder beside a file,
/// which Debian's has by default.
///
/// - Parameter roots: nil for the system's authorities.
func trustOnly(_ roots: String?, on easy: UnsafeMutableRawPointer) {
  guard let roots else { return }
  martlet_curl_set_text(easy, CURLOPT_CAINFO, roots)
  martlet_curl_set_text(easy, CURLOPT_CAPATH, nil)
}
