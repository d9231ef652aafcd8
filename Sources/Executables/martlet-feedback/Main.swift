// SPDX-License-Identifier: Apache-2.0
import Feedback
import ServiceKit

@main
struct Main {
  static func main() { runService(FeedbackService.self) }
}
