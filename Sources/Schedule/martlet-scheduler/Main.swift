// SPDX-License-Identifier: Apache-2.0
import Scheduler
import ServiceKit

@main
struct Main {
  static func main() { runService(SchedulerService.self) }
}
