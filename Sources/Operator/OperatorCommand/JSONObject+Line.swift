// SPDX-License-Identifier: Apache-2.0
import Records
import Telemetry

extension JSONObject {
  /// The object in one line, for programs. No text in it steers a terminal.
  var line: String {
    TerminalText.json(String(decoding: JSONValue.object(self).text, as: UTF8.self))
  }
}
