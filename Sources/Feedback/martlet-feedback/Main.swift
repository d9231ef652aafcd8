// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Feedback
import ServiceKit

@main
struct Main {
  static func main() {
    MemoryArena.share()
    runService(FeedbackService.self)
  }
}
